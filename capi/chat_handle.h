// Objects behind the chat handles; text/chat implements chats.
#pragma once

#include <memory>
#include <string>

#include "handle.h"
#include "host.h"
#include "model/model.h"
#include "text/chat/chat.h"
#include "text/grammar/mask_cache.h"

struct tenon_chat : tenon::capi::Handle<tenon_chat> {
  static constexpr auto kMagic = tenon::capi::Magic::Chat;
  static constexpr const char* kName = "chat";

  tenon_chat(std::shared_ptr<tenon::capi::Host> of_model,
             std::shared_ptr<const tenon::Model> of_tokenizer, tenon::ChatOptions options)
      : host(std::move(of_model)),
        model(std::move(of_tokenizer)),
        chat(std::make_shared<tenon::Chat>(std::move(options),
                                           model != nullptr ? model->tokenizer().get() : nullptr)),
        masks(model != nullptr ? std::make_unique<tenon::grammar::MaskCache>(model->tokenizer())
                               : nullptr) {}

  std::shared_ptr<tenon::capi::Host> host;  ///< null without a model
  std::shared_ptr<const tenon::Model> model;
  std::shared_ptr<const tenon::Chat> chat;
  std::unique_ptr<tenon::grammar::MaskCache> masks;  ///< null without a model
};

struct tenon_chat_reply : tenon::capi::Handle<tenon_chat_reply> {
  static constexpr auto kMagic = tenon::capi::Magic::ChatReply;
  static constexpr const char* kName = "chat reply";

  tenon_chat_reply(const tenon_chat& from, const tenon::ChatPrompt& prompt);

  std::shared_ptr<tenon::capi::Host> host;
  std::shared_ptr<const tenon::Model> model;
  std::shared_ptr<const tenon::Chat> chat;
  tenon::ReplyParser parser;
  std::string bytes;  ///< incomplete last character
  std::string json;   ///< returned by tenon_chat_reply_message
};

namespace tenon::capi {

/// Sink that passes the parts of an answer to the host's callback. on_delta: may be NULL.
ReplySink reply_sink(tenon_chat_callback on_delta, void* user);
/// Adds the next token of the answer.
void push_token(tenon_chat_reply& reply, Token token, const ReplySink& sink);
/// Adds the next piece of a generation: a control token, or text to show.
void push_piece(tenon_chat_reply& reply, Token token, std::string_view text, const ReplySink& sink);
/// Completes the answer.
void finish_reply(tenon_chat_reply& reply, const ReplySink& sink);

}  // namespace tenon::capi
