// tenon_chat_*.
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "chat_handle.h"
#include "fence.h"
#include "grammar_handle.h"
#include "model_handle.h"
#include "option_readers.h"
#include "option_set.h"
#include "sampler_handle.h"
#include "text/chat/template_names.h"
#include "text/unicode/utf8_codec.h"
#include "tokenizer_handle.h"
#include "values.h"

using namespace tenon::capi;

namespace {

/// Template for the option "template": the option's text, or a template of that name in the model
/// or the library.
std::string given_template(const std::string& given, const tenon::Model* model) {
  if (given.empty() || tenon::is_template_text(given)) return given;
  const std::string key = "tokenizer.chat_template." + given;
  if (model != nullptr && model->metadata().contains(key)) {
    return std::string(model->metadata().get_string(key));
  }
  const std::string_view known = tenon::template_by_name(given);
  if (!known.empty()) return std::string(known);
  tenon::fail(
      tenon::Code::Argument,
      "template: {} is no text of a template, which has {{{{ or {{%, and no name of one; known "
      "here are {}",
      tenon::quoted(given), tenon::template_names());
}

/// Chooses the template by the options: given, named in the model, or the model's own.
void choose_template(const OptionSet& set, const tenon::Model* model, tenon::ChatOptions& out) {
  out.source = given_template(set.string("template"), model);
  out.source_name = "template";
  if (!out.source.empty()) return;
  const tenon::ChatFormat* format = tenon::find_chat_format(set.string("chat_format"));
  if (format != nullptr && !format->own_template.empty()) return;
  if (model == nullptr) {
    tenon::fail(tenon::Code::Argument, "give a model, or the option \"template\"");
  }
  std::string key = "tokenizer.chat_template";
  // Name of the template for conversations with tools in Hugging Face's lists.
  const std::string tool_key = key + ".tool_use";
  const std::string name = set.string("template_name");
  if (!name.empty()) key += "." + name;
  out.source = model->metadata().get_or<std::string_view>(key, "");
  out.source_name = key;
  if (name.empty()) {
    out.tool_source = model->metadata().get_or<std::string_view>(tool_key, "");
    out.tool_source_name = tool_key;
    if (out.source.empty()) std::swap(out.source, out.tool_source);
  }
  if (out.source.empty()) {
    tenon::fail(tenon::Code::State,
                "{}: there is no chat template \"{}\"; give one as the option \"template\"",
                model->file().name(), key);
  }
}

void send(const tenon::ReplyDelta& delta, tenon_chat_callback on_delta, void* user) {
  tenon_chat_delta out{};
  out.struct_size = sizeof out;
  out.kind = static_cast<int32_t>(delta.kind) + TENON_CHAT_CONTENT;
  out.call = delta.call;
  out.text = delta.text.data() != nullptr ? delta.text.data() : "";
  out.length = delta.text.size();
  out.id = delta.id.data() != nullptr ? delta.id.data() : "";
  out.id_length = delta.id.size();
  call_host("on_delta", [&] { on_delta(user, &out); });
}

/// Passes on whole characters; ill-formed UTF-8 becomes U+FFFD.
void push_text(tenon_chat_reply& reply, std::string_view text, bool at_end,
               const tenon::ReplySink& sink) {
  reply.bytes += text;
  const size_t whole = tenon::utf8_valid_prefix(reply.bytes);
  const std::string_view rest = std::string_view(reply.bytes).substr(whole);
  const bool waits =
      !at_end && !rest.empty() && tenon::utf8_unit(rest).kind == tenon::Utf8Unit::Unfinished;
  std::string ready = reply.bytes.substr(0, whole);
  if (!waits) tenon::utf8_append_repaired(rest, ready);
  reply.bytes = waits ? std::string(rest) : std::string();
  if (!ready.empty()) reply.parser.push(ready, sink);
}

}  // namespace

tenon::ReplySink tenon::capi::reply_sink(tenon_chat_callback on_delta, void* user) {
  if (on_delta == nullptr) return {};
  return [on_delta, user](const ReplyDelta& delta) { send(delta, on_delta, user); };
}

void tenon::capi::push_token(tenon_chat_reply& reply, Token token, const ReplySink& sink) {
  const Tokenizer* tokenizer = reply.chat->tokenizer();
  if (tokenizer == nullptr) fail(Code::State, "the chat was made without a model: push text");
  // Control tokens belong to the format; an end token is not part of the answer.
  const std::string_view text = tokenizer->decode(token, true);
  if (!tokenizer->is_end(token)) push_text(reply, text, false, sink);
}

void tenon::capi::push_piece(tenon_chat_reply& reply, Token token, std::string_view text,
                             const ReplySink& sink) {
  const Tokenizer* tokenizer = reply.chat->tokenizer();
  if (tokenizer == nullptr) fail(Code::State, "the chat was made without a model: push text");
  // Control tokens have no text. Other text is held back while it may become a stop text.
  if (token >= 0 && tokenizer->decode(token).empty()) push_token(reply, token, sink);
  if (!text.empty()) push_text(reply, text, false, sink);
}

void tenon::capi::finish_reply(tenon_chat_reply& reply, const ReplySink& sink) {
  push_text(reply, "", true, sink);
  reply.parser.finish(sink);
}

tenon::ChatOptions tenon::capi::chat_options(const OptionSet& set, const tenon::Model* model) {
  tenon::ChatOptions options;
  choose_template(set, model, options);
#define OPTION(key, member, kind, doc) options.member = option_in(set, #key, kind);
#define OPTION_APART(key, kind, doc)
#include "text/chat/chat_options.def"
#undef OPTION
#undef OPTION_APART
  return options;
}

tenon_chat_reply::tenon_chat_reply(const tenon_chat& from, const tenon::ChatPrompt& prompt)
    : host(from.host), model(from.model), chat(from.chat), parser(chat->make_parser(prompt)) {}

tenon_status tenon_chat_create(const tenon_model* model, const tenon_options* options,
                               tenon_chat** chat) {
  return fence([&] {
    tenon_chat*& out = checked_out(chat, "chat");
    std::shared_ptr<Host> host;
    std::shared_ptr<const tenon::Model> of_tokenizer;
    if (model != nullptr) {
      const tenon_model& handle = checked(model);
      host = handle.host;
      of_tokenizer = handle.model;
    }
    const OptionSet set = options_or_default(options);
    tenon::ChatOptions from = chat_options(set, of_tokenizer.get());
    const std::shared_ptr<tenon::System> system =
        host != nullptr ? host->system() : std::make_shared<Host>()->system();
    from.thread_time_ns = [system] { return system->thread_time_ns(); };
    out = new tenon_chat(std::move(host), std::move(of_tokenizer), std::move(from));
  });
}

void tenon_chat_destroy(tenon_chat* chat) { destroy(chat); }

tenon_status tenon_chat_format(const tenon_chat* chat, const char** name) {
  return fence([&] {
    const char*& out = checked_out(name, "name");
    out = checked(chat).chat->format().name.data();
  });
}

tenon_status tenon_chat_render(const tenon_chat* chat, const char* conversation, size_t length,
                               char* text, size_t capacity, size_t* needed) {
  return fence([&] {
    const tenon::ChatPrompt prompt =
        checked(chat).chat->render(text_in(conversation, length, "conversation"));
    fill_buffer(std::span<const char>(prompt.text.bytes()), text, capacity, needed);
  });
}

tenon_status tenon_chat_encode(const tenon_chat* chat, const char* conversation, size_t length,
                               tenon_token* tokens, size_t capacity, size_t* num_tokens) {
  return fence([&] {
    const tenon::Chat& of_handle = *checked(chat).chat;
    const tenon::ChatPrompt prompt =
        of_handle.render(text_in(conversation, length, "conversation"));
    const std::vector<tenon::Token> result = of_handle.encode(prompt);
    fill_buffer(std::span<const tenon_token>(result), tokens, capacity, num_tokens);
  });
}

tenon_status tenon_chat_grammar(const tenon_chat* chat, const char* conversation, size_t length,
                                tenon_grammar** grammar) {
  return fence([&] {
    tenon_grammar*& out = checked_out(grammar, "grammar");
    const tenon::Chat& of_handle = *checked(chat).chat;
    auto made =
        of_handle.answer_grammar(of_handle.render(text_in(conversation, length, "conversation")));
    out = made != nullptr ? new tenon_grammar(std::move(made)) : nullptr;
  });
}

tenon_status tenon_chat_compile(const tenon_chat* chat, const char* conversation, size_t length,
                                const tenon_tokenizer* tokenizer, tenon_stop_callback should_stop,
                                void* user, tenon_grammar** grammar) {
  return fence([&] {
    tenon_grammar*& out = checked_out(grammar, "grammar");
    const tenon::Chat& of_handle = *checked(chat).chat;
    tenon::grammar::MaskCache* const masks =
        tokenizer != nullptr ? checked(tokenizer).masks.get() : nullptr;
    StopWatch watch(should_stop, user);
    auto made = of_handle.answer_grammar(
        of_handle.render(text_in(conversation, length, "conversation")), &watch);
    if (made != nullptr && masks != nullptr) (void)masks->of(made, &watch);
    out = made != nullptr ? new tenon_grammar(std::move(made)) : nullptr;
  });
}

tenon_status tenon_chat_constrain(const tenon_chat* chat, const char* conversation, size_t length,
                                  tenon_sampler* sampler, int32_t* constrained) {
  return fence([&] {
    const tenon_chat& of_handle = checked(chat);
    tenon::Sampler& draws = checked(sampler).sampler;
    if (of_handle.masks == nullptr) {
      tenon::fail(tenon::Code::State, "the chat was made without a model: no tokens");
    }
    const auto made = of_handle.chat->answer_grammar(
        of_handle.chat->render(text_in(conversation, length, "conversation")));
    draws.set_grammar(made == nullptr
                          ? nullptr
                          : std::make_unique<tenon::GrammarMatcher>(of_handle.masks->of(made)));
    if (constrained != nullptr) *constrained = made != nullptr ? 1 : 0;
  });
}

tenon_status tenon_chat_reply_create(const tenon_chat* chat, const char* conversation,
                                     size_t length, tenon_chat_reply** reply) {
  return fence([&] {
    tenon_chat_reply*& out = checked_out(reply, "reply");
    const tenon_chat& of_handle = checked(chat);
    out = new tenon_chat_reply(
        of_handle, of_handle.chat->render(text_in(conversation, length, "conversation")));
  });
}

void tenon_chat_reply_destroy(tenon_chat_reply* reply) { destroy(reply); }

tenon_status tenon_chat_reply_push_text(tenon_chat_reply* reply, const char* text, size_t length,
                                        tenon_chat_callback on_delta, void* user) {
  return fence([&] {
    push_text(checked(reply), text_in(text, length, "text"), false, reply_sink(on_delta, user));
  });
}

tenon_status tenon_chat_reply_push_token(tenon_chat_reply* reply, tenon_token token,
                                         tenon_chat_callback on_delta, void* user) {
  return fence([&] { push_token(checked(reply), token, reply_sink(on_delta, user)); });
}

tenon_status tenon_chat_reply_push_piece(tenon_chat_reply* reply, tenon_token token,
                                         const char* text, size_t length,
                                         tenon_chat_callback on_delta, void* user) {
  return fence([&] {
    push_piece(checked(reply), token, text_in(text, length, "text"), reply_sink(on_delta, user));
  });
}

tenon_status tenon_chat_reply_finish(tenon_chat_reply* reply, tenon_chat_callback on_delta,
                                     void* user) {
  return fence([&] { finish_reply(checked(reply), reply_sink(on_delta, user)); });
}

tenon_status tenon_chat_reply_message(tenon_chat_reply* reply, const char** json, size_t* length) {
  return fence([&] {
    const char*& data = checked_out(json, "json");
    size_t& size = checked_out(length, "length");
    tenon_chat_reply& of_handle = checked(reply);
    of_handle.json = tenon::message_json(of_handle.parser.message());
    data = of_handle.json.c_str();
    size = of_handle.json.size();
  });
}
