// Conversation with a model, shared by `tenon run` and `tenon chat`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "conversation.h"
#include "option_flags.h"
#include "pictures.h"

namespace tenon_program {

/// Flags about the model, its options and its answers.
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
  bool offline = false;
  std::vector<std::string> images;
  uint64_t max_tokens = 0;
  OptionFlags model_options;
  std::string store;        ///< folder of computed prefixes; empty for none
  std::string store_bytes;  ///< as typed; empty for the default
  OptionFlags session_options;
  OptionFlags sampler_options;
  OptionFlags chat_options;

  /// Adds all flags except the model.
  void add(CLI::App& command);
};

/// Loaded model with one session.
class Talk {
 public:
  /// Loads the model and shows progress. asks: reads the chat template.
  Talk(const AnswerFlags& flags, bool asks);

  /// True if the model has a chat template.
  [[nodiscard]] bool has_template() const { return chat_.has_value(); }
  /// Answers the last message, shows the answer as it arrives and appends it. Drops the oldest
  /// questions, with a note, if an answer has no room. Ctrl-C ends only the answer. Throws as the
  /// library does.
  void answer();
  /// "demo-q8_0, llama, 1.3 million parameters, a context of 1024 tokens"
  [[nodiscard]] std::string description() const;

  Conversation conversation;
  tenon::ExtraOptions sampler_options;  ///< options of later answers
  uint64_t max_tokens = 0;              ///< limit of an answer; 0: none
  bool timings = false;                 ///< printed after each answer

  [[nodiscard]] const tenon::Model& model() const { return *model_; }
  [[nodiscard]] tenon::Session& session() { return *session_; }
  /// Those of the flags, for the one question that is asked.
  [[nodiscard]] const std::vector<tenon::Picture>& pictures() const { return pictures_.views(); }
  [[nodiscard]] double load_seconds() const { return load_seconds_; }

 private:
  void generate(tenon::Sampler& sampler, tenon::ChatReply& reply);
  /// Tokens of the conversation, without the oldest questions if they do not fit.
  std::vector<tenon::Token> fitting_prompt();

  const AnswerFlags& flags_;
  tenon::Log log_;
  Pictures pictures_;
  std::optional<tenon::Model> model_;
  std::optional<tenon::Chat> chat_;
  std::optional<tenon::Engine> engine_;  ///< with a store
  std::optional<tenon::Session> session_;
  double load_seconds_ = 0;
};

/// Adds MODEL and a text, as words or as -m and -p; with -m the first word already belongs to the
/// text. Call the result after parsing; it throws Ending if words and flags disagree.
std::function<void()> add_model_and_text(CLI::App& command, std::string& model, std::string& text,
                                         const char* name, const char* what);

/// Attaches the grammar that the flags name, if any.
void set_grammar(tenon::Sampler& sampler, const tenon::Model& model, const std::string& json_schema,
                 const std::string& gbnf, const std::string& regex);

/// Reports on standard error that a text was cut, by bans or a full context.
///   finish  reason in the last piece
///   tokens  number generated, at most max_tokens (0 means no limit)
void say_why_it_ended(const tenon::Session& session, int32_t finish, uint64_t tokens,
                      uint64_t max_tokens);

/// Prints times of load, prefill and decode on standard error.
void print_timings(double load_seconds, const tenon_session_stats& stats);

/// Text of standard input; empty for a terminal. With a text given, reads only files and pipes.
/// Reports on standard error while it waits.
std::string standard_input(bool has_text);

}  // namespace tenon_program
