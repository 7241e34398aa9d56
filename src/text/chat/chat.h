// Converts conversations to prompts and answers to messages: joins the template, the model's family
// and the host's JSON.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat/chat_options.h"
#include "text/chat/conversation.h"
#include "text/chat_formats/reply_parser.h"
#include "text/grammar/grammar.h"
#include "text/template/chat_template.h"
#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// Template with the facts known about it.
struct ChatForm {
  ChatTemplate source;
  const ChatFormat* format;
  ConversationForm reading{};
  std::vector<std::string> marks{};  ///< control tokens that the family's marks spell
};

/// Rendered conversation.
struct ChatPrompt {
  const ChatForm* form = nullptr;  ///< form of the chat, which must outlive the prompt
  jinja::Text text;
  bool has_tools = false;
  size_t num_calls = 0;  ///< calls in the conversation
  size_t num_turns = 0;  ///< turns of the whole conversation
  ToolTypes types;
  AnswerRules rules;
  ReplyBegin begin = ReplyBegin::Fresh;  ///< beginning of the answer

  /// Prompt for the tokenizer: untrusted text spells no control tokens.
  [[nodiscard]] std::vector<TextPart> parts() const;
};

/// Thread-safe: immutable after construction, except its caches.
class Chat {
 public:
  /// tokenizer: may be null if prompts are not tokenized; outlives the chat. Throws Error(Template)
  /// for a bad template, Error(Argument) for an unknown format.
  Chat(ChatOptions options, const Tokenizer* tokenizer);

  /// conversation: a JSON object, see tenon.h. Throws Error(Argument) for a malformed conversation,
  /// Error(Template) if the template fails.
  ///   dropped_turns  number of oldest turns to drop (ConversationForm)
  [[nodiscard]] ChatPrompt render(std::string_view conversation, size_t dropped_turns = 0) const;
  /// Tokens of a prompt. Throws Error(State) without a tokenizer.
  [[nodiscard]] std::vector<Token> encode(const ChatPrompt& prompt) const;
  [[nodiscard]] ReplyParser make_parser(const ChatPrompt& prompt) const;

  /// Grammar of the answer; null if any text is allowed. Caches recent grammars. Throws
  /// Error(Unsupported) if calls are required of a family without a call shape; other errors as
  /// answer_grammar() of answer_grammar.h.
  ///   watch  may be null; watches the compilation of a grammar that is not cached
  [[nodiscard]] std::shared_ptr<const Grammar> answer_grammar(const ChatPrompt& prompt,
                                                              WorkWatch* watch = nullptr) const;

  /// Cache of recent answer grammars and their parts.
  [[nodiscard]] GrammarCache& grammars() const { return grammars_; }

  /// Format for conversations without tools.
  [[nodiscard]] const ChatFormat& format() const { return *forms_.front()->format; }
  [[nodiscard]] const ChatTemplate& chat_template() const { return forms_.front()->source; }
  [[nodiscard]] const Tokenizer* tokenizer() const { return tokenizer_; }

 private:
  static constexpr size_t kGrammarBytes = size_t{32} << 20;

  void add_form(std::string source, std::string name);
  [[nodiscard]] jinja::Text render_template(const ChatForm& form,
                                            const ChatTemplate::Variables& variables,
                                            std::optional<jinja::CalendarTime> now) const;
  [[nodiscard]] jinja::Text render_continued(const ChatForm& form, Conversation given,
                                             std::string_view conversation) const;
  [[nodiscard]] ChatTemplate::Variables special_tokens() const;
  void probe(ChatForm& form) const;
  void probe_tools(ChatForm& form) const;
  /// Renders messages and tools given as JSON; empty if the template fails.
  [[nodiscard]] std::optional<std::string> probed(const ChatForm& form, std::string_view messages,
                                                  std::string_view tools = {}) const;
  [[nodiscard]] bool probe_shows(const ChatForm& form, std::string_view messages,
                                 std::string_view wanted, std::string_view unwanted) const;

  ChatOptions options_;
  const Tokenizer* tokenizer_;
  /// Main form, then the form for conversations with tools if different.
  std::vector<std::unique_ptr<const ChatForm>> forms_;
  mutable GrammarCache grammars_{kGrammarBytes};
};

/// Message as JSON: {"role": "assistant", "content": ..., "reasoning_content": ..., "tool_calls":
/// [...]}, which a conversation accepts.
std::string message_json(const ReplyMessage& message);

}  // namespace tenon
