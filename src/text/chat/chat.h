// A conversation to a prompt, and an answer to a message: the template, the family of the model and
// what a host says in JSON, joined.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat/conversation.h"
#include "text/chat_formats/reply_parser.h"
#include "text/grammar/grammar.h"
#include "text/template/chat_template.h"
#include "text/tokenizer.h"

namespace tenon {

struct ChatOptions {
  std::string source{};         ///< of the template; empty: that of the format, if it has one
  std::string source_name{};    ///< what messages call it
  std::string format = "auto";  ///< a family of chat_format.h, or "auto": by the template
  /// Content and arguments in the form that the template expects, where the host's is another.
  bool adapt = true;
  bool constrain_calls =
      true;                ///< calls are part of answer_grammar() where they may, not must, come
  uint64_t time_ms = 100;  ///< of processor time, for one rendering
  std::function<uint64_t()> thread_time_ns{};  ///< see base/system.h; none: time is not limited
};

/// A rendered conversation.
struct ChatPrompt {
  jinja::Text text;
  bool has_tools = false;
  size_t num_calls = 0;  ///< that the conversation has already
  size_t num_turns = 0;  ///< of the whole conversation
  ToolTypes types;
  AnswerRules rules;

  /// The text as the tokenizer takes it: what came from outside spells no control tokens.
  [[nodiscard]] std::vector<TextPart> parts() const;
};

/// Does not change what it does after construction, so any number of threads may use it.
class Chat {
 public:
  /// tokenizer: null where prompts are not to become tokens; must outlive the chat. Throws
  /// Error(Template) for a bad template, Error(Argument) for an unknown format.
  Chat(ChatOptions options, const Tokenizer* tokenizer);

  /// conversation: a JSON object, see tenon.h. Throws Error(Argument) for a malformed one,
  /// Error(Template) when the template fails.
  ///   dropped_turns  of the oldest, as ConversationForm has them
  [[nodiscard]] ChatPrompt render(std::string_view conversation, size_t dropped_turns = 0) const;
  /// The tokens of a prompt. Throws Error(State) without a tokenizer.
  [[nodiscard]] std::vector<Token> encode(const ChatPrompt& prompt) const;
  [[nodiscard]] ReplyParser make_parser(const ChatPrompt& prompt) const;

  /// What the answer may be; null when that is anything. Remembers the grammars made last. Throws
  /// Error(Unsupported) when calls are required of a family without a shape of calls; errors as
  /// answer_grammar of answer_grammar.h.
  [[nodiscard]] std::shared_ptr<const Grammar> answer_grammar(const ChatPrompt& prompt) const;

  [[nodiscard]] const ChatFormat& format() const { return *format_; }
  [[nodiscard]] const ChatTemplate& chat_template() const { return template_; }
  [[nodiscard]] const Tokenizer* tokenizer() const { return tokenizer_; }

 private:
  static constexpr size_t kGrammarBytes = size_t{32} << 20;

  [[nodiscard]] jinja::Text render_template(const ChatTemplate::Variables& variables,
                                            std::optional<jinja::CalendarTime> now) const;
  [[nodiscard]] ChatTemplate::Variables special_tokens() const;
  void probe();
  /// What the template makes of messages; nothing when it fails.
  [[nodiscard]] std::optional<std::string> probed(std::string_view messages) const;
  [[nodiscard]] bool probe_shows(std::string_view messages, std::string_view wanted,
                                 std::string_view unwanted) const;

  ChatOptions options_;
  ChatTemplate template_;
  const ChatFormat* format_;
  const Tokenizer* tokenizer_;
  // What the template makes of the forms that a host may use.
  bool joins_parts_ = false;        ///< lists of parts are printed as Python prints them
  bool fills_content_ = false;      ///< calls without content are an error, or print "None"
  bool keeps_arguments_ = false;    ///< arguments must stay the string that they are
  std::vector<std::string> marks_;  ///< control tokens that the family's marks spell
  mutable GrammarCache grammars_{kGrammarBytes};
};

/// A message as JSON: {"role": "assistant", "content": ..., "reasoning_content": ...,
/// "tool_calls": [...]}, as a conversation takes it back.
std::string message_json(const ReplyMessage& message);

}  // namespace tenon
