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
#include "text/tokenizer/tokenizer.h"

namespace tenon {

struct ChatOptions {
  std::string source{};       ///< template; empty: the format's, if any
  std::string source_name{};  ///< name for messages
  std::string tool_source{};  ///< for conversations with tools; empty: the same
  std::string tool_source_name{};
  std::string format = "auto";  ///< a family of chat_format.h, or "auto": by the template
  /// Content and arguments in the form that the template expects, where the host's is another.
  bool adapt = true;
  bool constrain_calls = true;  ///< calls in answer_grammar() even where they are optional
  bool generic_tools = false;   ///< for templates without tools: generic_tools.h
  uint64_t time_ms = 100;       ///< processor time of a rendering
  std::function<uint64_t()> thread_time_ns{};  ///< see base/system.h; none: time is not limited
};

/// Template with the facts known about it.
struct ChatForm {
  ChatTemplate source;
  const ChatFormat* format;
  ConversationForm reading{};
  std::vector<std::string> marks{};  ///< control tokens that the family's marks spell
};

/// A rendered conversation.
struct ChatPrompt {
  const ChatForm* form = nullptr;  ///< of the chat, which must outlive it
  jinja::Text text;
  bool has_tools = false;
  size_t num_calls = 0;  ///< that the conversation has already
  size_t num_turns = 0;  ///< turns of the whole conversation
  ToolTypes types;
  AnswerRules rules;
  ReplyBegin begin = ReplyBegin::Fresh;  ///< beginning of the answer

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
  ///   dropped_turns  number of the oldest turns left out (ConversationForm)
  [[nodiscard]] ChatPrompt render(std::string_view conversation, size_t dropped_turns = 0) const;
  /// The tokens of a prompt. Throws Error(State) without a tokenizer.
  [[nodiscard]] std::vector<Token> encode(const ChatPrompt& prompt) const;
  [[nodiscard]] ReplyParser make_parser(const ChatPrompt& prompt) const;

  /// What the answer may be; null when that is anything. Remembers the grammars made last. Throws
  /// Error(Unsupported) when calls are required of a family without a shape of calls; errors as
  /// answer_grammar of answer_grammar.h.
  ///   watch  may be null; looks at the compilation of a grammar that is new
  [[nodiscard]] std::shared_ptr<const Grammar> answer_grammar(const ChatPrompt& prompt,
                                                              WorkWatch* watch = nullptr) const;

  /// Grammars of answers made last, and their parts.
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
  /// Rendering of messages and tools given as JSON; nothing if the template fails.
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

/// A message as JSON: {"role": "assistant", "content": ..., "reasoning_content": ...,
/// "tool_calls": [...]}, as a conversation takes it back.
std::string message_json(const ReplyMessage& message);

}  // namespace tenon
