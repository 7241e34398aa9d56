// Conversations: messages to a prompt, and the model's answer to content, reasoning and tool calls.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tenon/error.hpp>
#include <tenon/grammar.hpp>
#include <tenon/model.hpp>
#include <tenon/options.hpp>
#include <tenon/sampler.hpp>
#include <tenon/session.hpp>
#include <tenon/tokenizer.hpp>
#include <vector>

namespace tenon {
inline namespace v1 {

/// A piece of an answer; the texts are valid until the callback returns.
struct ChatDelta {
  int32_t kind = TENON_CHAT_CONTENT;  ///< TENON_CHAT_*
  uint64_t call = 0;
  std::string_view text{};
  std::string_view id{};
};

/// Parses one answer. Move-only; one thread at a time. An exception of a callback leaves the
/// function that was called with it.
class ChatReply {
 public:
  using OnDelta = std::function<void(const ChatDelta&)>;

  explicit ChatReply(tenon_chat_reply* raw) : handle_(raw) {}

  void push(Token token, const OnDelta& on_delta = {}) {
    run(on_delta, [&](tenon_chat_callback call, void* user) {
      return tenon_chat_reply_push_token(handle_.get(), token, call, user);
    });
  }
  void push(std::string_view text, const OnDelta& on_delta = {}) {
    run(on_delta, [&](tenon_chat_callback call, void* user) {
      return tenon_chat_reply_push_text(handle_.get(), text.data(), text.size(), call, user);
    });
  }
  /// Adds a piece of a generation. Text is held back while it may become a stop text.
  void push(const Piece& piece, const OnDelta& on_delta = {}) {
    run(on_delta, [&](tenon_chat_callback call, void* user) {
      return tenon_chat_reply_push_piece(handle_.get(), piece.token, piece.text.data(),
                                         piece.text.size(), call, user);
    });
  }
  void finish(const OnDelta& on_delta = {}) {
    run(on_delta, [&](tenon_chat_callback call, void* user) {
      return tenon_chat_reply_finish(handle_.get(), call, user);
    });
  }
  /// The answer so far, as a message of a conversation.
  [[nodiscard]] std::string message() {
    const char* json = nullptr;
    size_t length = 0;
    check(tenon_chat_reply_message(handle_.get(), &json, &length));
    return {json, length};
  }

 private:
  struct Carrier {
    const OnDelta& function;
    std::exception_ptr thrown;
  };

  template <typename Call>
  void run(const OnDelta& on_delta, Call call) {
    if (!on_delta) return check(call(nullptr, nullptr));
    Carrier carrier{on_delta, nullptr};
    const tenon_status status = call(
        [](void* user, const tenon_chat_delta* delta) noexcept {
          auto& into = *static_cast<Carrier*>(user);
          if (into.thrown) return;
          try {
            into.function({delta->kind,
                           delta->call,
                           {delta->text, static_cast<size_t>(delta->length)},
                           {delta->id, static_cast<size_t>(delta->id_length)}});
          } catch (...) {
            into.thrown = std::current_exception();
          }
        },
        &carrier);
    if (carrier.thrown) std::rethrow_exception(carrier.thrown);
    check(status);
  }

  struct Destroy {
    void operator()(tenon_chat_reply* raw) const noexcept { tenon_chat_reply_destroy(raw); }
  };
  std::unique_ptr<tenon_chat_reply, Destroy> handle_;
};

/// A model's chat template and the parser of its answers. Conversations are JSON (tenon.h, section
/// 14). Move-only; any number of threads may use it.
class Chat {
 public:
  explicit Chat(const Model& model, const ChatOptions& options = {}) : Chat(model.get(), options) {}
  /// Without a model: text only. options.chat_template must be set.
  explicit Chat(const ChatOptions& options) : Chat(nullptr, options) {}
  /// For a model held as a handle of the C interface; null: no model.
  explicit Chat(const tenon_model* model, const ChatOptions& from = {}) {
    tenon_chat* raw = nullptr;
    check(tenon_chat_create(model, Options(from).get(), &raw));
    handle_.reset(raw);
  }

  /// The prompt as text.
  [[nodiscard]] std::string render(std::string_view conversation) const {
    std::string text;
    for (;;) {
      size_t needed = 0;
      check(tenon_chat_render(get(), conversation.data(), conversation.size(), text.data(),
                              text.size(), &needed));
      const bool fits = needed <= text.size();
      text.resize(needed);
      if (fits) return text;
    }
  }
  /// The prompt as tokens.
  [[nodiscard]] std::vector<Token> encode(std::string_view conversation) const {
    std::vector<Token> tokens(conversation.size() + 256);
    for (;;) {
      size_t needed = 0;
      check(tenon_chat_encode(get(), conversation.data(), conversation.size(), tokens.data(),
                              tokens.size(), &needed));
      const bool fits = needed <= tokens.size();
      tokens.resize(needed);
      if (fits) return tokens;
    }
  }
  /// Grammar of the answer; nullopt if any answer may come.
  [[nodiscard]] std::optional<Grammar> grammar(std::string_view conversation) const {
    tenon_grammar* raw = nullptr;
    check(tenon_chat_grammar(get(), conversation.data(), conversation.size(), &raw));
    if (raw == nullptr) return std::nullopt;
    return Grammar::adopt(raw);
  }
  /// As grammar(), with a stop function and prepared for a vocabulary. options.lenient is not used.
  [[nodiscard]] std::optional<Grammar> compile(std::string_view conversation,
                                               const CompileOptions& options) const {
    detail::StopCarrier carrier(options);
    tenon_grammar* raw = nullptr;
    carrier.check(
        tenon_chat_compile(get(), conversation.data(), conversation.size(),
                           options.tokenizer != nullptr ? options.tokenizer->get() : nullptr,
                           carrier.callback(), &carrier, &raw));
    if (raw == nullptr) return std::nullopt;
    return Grammar::adopt(raw);
  }
  /// Begins to parse the answer to a conversation.
  [[nodiscard]] ChatReply reply(std::string_view conversation) const {
    tenon_chat_reply* raw = nullptr;
    check(tenon_chat_reply_create(get(), conversation.data(), conversation.size(), &raw));
    return ChatReply(raw);
  }

  /// Attaches the grammar of the answer to the sampler. Returns false if any answer may come.
  bool constrain(Sampler& sampler, std::string_view conversation) const {
    return sampler.set_grammar_of(get(), conversation);
  }

  /// Runs one turn: generates the answer to a conversation in `session`, as constrain() says.
  /// Returns the answer as a message, to be appended to the conversation. Keeps the session's
  /// common prefix computed. Calls on_delta for each delta and passes on its exceptions.
  std::string answer(Session& session, std::string_view conversation,
                     const ChatReply::OnDelta& on_delta = {},
                     const GenerateOptions& options = {}) const {
    Sampler sampler(options.sampler);
    ChatReply reading =
        begin(session, conversation, sampler, options.max_tokens, options.drop_oldest);
    for (const Piece& piece : session.generate(sampler, options.max_tokens)) {
      reading.push(piece, on_delta);
    }
    reading.finish(on_delta);
    return reading.message();
  }

  /// Starts an answer for submit(): sets the session's text to the prompt, constrains the sampler
  /// and returns the reply to push pieces into.
  ///   drop_oldest  leaves out the oldest turns if there is no room for max_tokens (tenon.h,
  ///                section 14)
  ChatReply begin(Session& session, std::string_view conversation, Sampler& sampler,
                  uint64_t max_tokens = 0, bool drop_oldest = false) const {
    tenon_chat_reply* raw = nullptr;
    check(tenon_chat_begin(get(), session.get(), conversation.data(), conversation.size(),
                           sampler.get(), max_tokens, drop_oldest ? TENON_DROP_OLDEST : 0u, &raw));
    return ChatReply(raw);
  }

  /// Sets the session's text to `tokens`; keeps its common prefix computed.
  static void advance(Session& session, std::span<const Token> tokens) {
    const std::span<const Token> held = session.tokens();
    size_t same = 0;
    while (same < held.size() && same + 1 < tokens.size() && held[same] == tokens[same]) ++same;
    if (same < held.size()) session.rewind(same);
    session.append(tokens.subspan(same));
  }

  /// The format by which answers are parsed: "hermes", "plain", ...
  [[nodiscard]] std::string_view format() const {
    const char* name = nullptr;
    check(tenon_chat_format(get(), &name));
    return name;
  }

  [[nodiscard]] tenon_chat* get() const noexcept { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(tenon_chat* raw) const noexcept { tenon_chat_destroy(raw); }
  };
  std::unique_ptr<tenon_chat, Destroy> handle_;
};

}  // namespace v1
}  // namespace tenon
