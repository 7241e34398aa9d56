// A conversation with a model, and its answers: what `tenon run` and `tenon chat` share.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <tenon/tenon.hpp>

#include "conversation.h"
#include "option_flags.h"

namespace tenon_program {

/// What the command line says of answers.
struct AnswerFlags {
  std::string model;
  std::string system;
  std::string tools;
  std::string tool_choice;
  std::string json_schema;
  std::string gbnf;
  std::string regex;
  std::string chat_template;
  bool no_thinking = false;
  bool timings = false;
  uint64_t max_tokens = 0;
  OptionFlags model_options;
  OptionFlags session_options;
  OptionFlags sampler_options;
  OptionFlags chat_options;

  /// Adds all but the model.
  void add(CLI::App& command);
};

/// A model, loaded, with a session of it.
class Talk {
 public:
  /// Loads the model, showing how far it is. asks: its chat template is wanted.
  Talk(const AnswerFlags& flags, bool asks);

  /// Whether a template says how the model is asked.
  [[nodiscard]] bool has_template() const { return chat_.has_value(); }
  /// Answers the last message, shows the answer as it comes and adds it to the conversation. Where
  /// the text leaves no room for an answer, the oldest questions go first, with a note. Throws as the
  /// library does; Ctrl-C during an answer ends the answer alone.
  void answer();
  /// "demo-q8_0, llama, 1.3 million parameters, a context of 1024 tokens"
  [[nodiscard]] std::string description() const;

  Conversation conversation;
  tenon::ExtraOptions sampler_options;  ///< for the answers that follow
  uint64_t max_tokens = 0;              ///< of an answer; 0: any
  bool timings = false;                 ///< printed behind each answer

  [[nodiscard]] const tenon::Model& model() const { return *model_; }
  [[nodiscard]] tenon::Session& session() { return *session_; }
  [[nodiscard]] double load_seconds() const { return load_seconds_; }

 private:
  void generate(tenon::Sampler& sampler, tenon::ChatReply& reply);
  /// The tokens of the conversation, of which the oldest questions may be gone.
  std::vector<tenon::Token> fitting_prompt();

  const AnswerFlags& flags_;
  tenon::Log log_;
  std::optional<tenon::Model> model_;
  std::optional<tenon::Chat> chat_;
  std::optional<tenon::Session> session_;
  double load_seconds_ = 0;
};

/// Adds MODEL and a text, which may be words or -m and -p: with -m the first word is the text already.
/// The result is to be called when the line was read; it throws Ending where words and flags disagree.
std::function<void()> add_model_and_text(CLI::App& command, std::string& model, std::string& text,
                                         const char* name, const char* what);

/// Attaches the grammar that the flags name; none of them: nothing.
void set_grammar(tenon::Sampler& sampler, const tenon::Model& model, const std::string& json_schema,
                 const std::string& gbnf, const std::string& regex);

/// Says on standard error that a text ended before its end: what could follow is banned, or the context
/// is full. finish: of the last piece; tokens: that were generated, of at most max_tokens (0: any).
void say_why_it_ended(const tenon::Session& session, int32_t finish, uint64_t tokens,
                      uint64_t max_tokens);

/// Load, prefill and decode on standard error.
void print_timings(double load_seconds, const tenon_session_stats& stats);

/// What standard input holds, where it is no terminal; with a text given only what was put there on
/// purpose: a file or a pipe. Says so when that keeps it waiting.
std::string standard_input(bool has_text);

}  // namespace tenon_program
