// tenon run: continues a text.
#include <cstdio>
#include <memory>
#include <string>

#include "commands.h"
#include "failure.h"
#include "input_files.h"
#include "number_lists.h"
#include "option_flags.h"
#include "stopwatch.h"
#include "terminal.h"

namespace tenon_program {
namespace {

struct RunFlags {
  std::string model;
  std::string prompt;
  std::string file;
  uint64_t max_tokens = 0;
  bool no_special = false;
  bool parse_special = false;
  bool timings = false;
  std::string json_schema;
  std::string gbnf;
  std::string regex;
  OptionFlags model_options;
  OptionFlags session_options;
  OptionFlags sampler_options;
};

double rate(uint64_t tokens, double seconds) {
  return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

void print_timings(double load_seconds, const tenon_session_stats& stats) {
  std::fprintf(stderr, "load     %8.3f s\n", load_seconds);
  std::fprintf(stderr, "prefill  %8.3f s  %6llu tokens  %9.2f tokens/s\n", stats.prefill_seconds,
               static_cast<unsigned long long>(stats.prefill_tokens),
               rate(stats.prefill_tokens, stats.prefill_seconds));
  std::fprintf(stderr, "decode   %8.3f s  %6llu tokens  %9.2f tokens/s\n", stats.decode_seconds,
               static_cast<unsigned long long>(stats.decode_tokens),
               rate(stats.decode_tokens, stats.decode_seconds));
}

/// Attaches the grammar that the flags name.
void set_grammar(tenon::Sampler& sampler, const tenon::Model& model, const RunFlags& flags) {
  const auto set = [&](const tenon::Grammar& grammar) {
    sampler.set_grammar(grammar, model.tokenizer());
  };
  if (!flags.json_schema.empty()) set(tenon::Grammar::json_schema(read_file(flags.json_schema)));
  if (!flags.gbnf.empty()) set(tenon::Grammar::gbnf(read_file(flags.gbnf)));
  if (!flags.regex.empty()) set(tenon::Grammar::regular_expression(flags.regex));
}

void stream(tenon::Session& session, const tenon::Model& model, const RunFlags& flags) {
  tenon::Sampler sampler(tenon::SamplerOptions{.extra = flags.sampler_options.values()});
  set_grammar(sampler, model, flags);
  bool all_banned = false;
  for (const tenon::Piece& piece : session.generate(sampler, flags.max_tokens)) {
    all_banned = piece.finish == TENON_FINISH_BANNED;
    if (piece.text.empty()) continue;
    print(piece.text);
    flush();
  }
  // Exactly the text goes into a file or a pipe; a terminal gets its prompt on a new line.
  if (stdout_is_terminal()) print("\n");
  flush();
  if (all_banned) warn_all_banned();
}

void run(const RunFlags& flags) {
  const std::string prompt = flags.file.empty() ? flags.prompt : read_file(flags.file);
  const auto start = Clock::now();
  ProgressBar loading("loading");
  const tenon::Log log = warnings();
  const tenon::Model model(
      flags.model,
      {.extra = flags.model_options.values(), .progress = loading.callback(), .log = &log});
  loading.clear();
  const double load_seconds = seconds_since(start);

  tenon::Session session(model, {.extra = flags.session_options.values()});
  const tenon::EncodeOptions encode{.add_special = !flags.no_special,
                                    .parse_special = flags.parse_special};
  if (model.info().source_tokens > 0) {
    session.set_source(prompt, encode);
    if (session.position() == 0) {
      throw Failure(flags.model + ": does not say which token answers begin with");
    }
  } else {
    session.append(prompt, encode);
  }
  if (session.position() == 0) {
    throw Failure("the prompt is empty and the model has no begin token; give it some text");
  }
  ProgressBar reading("reading");
  session.prefill(reading.callback());
  reading.clear();
  stream(session, model, flags);
  if (flags.timings) print_timings(load_seconds, session.stats());
}

}  // namespace

void add_run(CLI::App& app) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = app.add_subcommand(
      "run",
      "Continue a text, or answer it where the model has an encoder, and stream that "
      "to standard output");
  command->add_option("MODEL", flags->model, "GGUF file")->required();
  CLI::Option* prompt = command->add_option("PROMPT", flags->prompt, "Text to continue");
  command->add_option("-f,--file", flags->file, "Read the text from a file (-: standard input)")
      ->excludes(prompt);
  command
      ->add_option("-n,--max-tokens", flags->max_tokens,
                   "Generate at most N tokens (default: until the model ends or the context is "
                   "full)")
      ->type_name("N")
      ->check(whole_number(0, INT64_MAX));
  command->add_flag("--no-special", flags->no_special, "Do not add the model's begin token");
  command->add_flag("--parse-special", flags->parse_special,
                    "Read spelled control tokens (such as <|im_start|>) as control tokens");
  CLI::Option_group* grammar = command->add_option_group("Grammar", "what the text must be");
  grammar->add_option("--json-schema", flags->json_schema, "A document of this JSON Schema (file)");
  grammar->add_option("--gbnf", flags->gbnf, "A text of this GBNF grammar (file)");
  grammar->add_option("--regex", flags->regex, "A match of this regular expression");
  grammar->require_option(0, 1);
  command->add_flag("--timings", flags->timings, "Print timings to standard error");
  flags->sampler_options.add(*command, TENON_SCOPE_SAMPLER, "Sampler");
  flags->session_options.add(*command, TENON_SCOPE_SESSION, "Session");
  flags->model_options.add(*command, TENON_SCOPE_MODEL, "Model", {"vocabulary_only", "inspect"});
  command->callback([flags] { run(*flags); });
}

}  // namespace tenon_program
