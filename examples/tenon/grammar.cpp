// tenon grammar: tests whether a grammar accepts a text.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <tenon/tenon.hpp>

#include "commands.h"
#include "failure.h"
#include "input_files.h"

namespace tenon_program {
namespace {

constexpr int kRejected = 1;
// Exit code for a refused grammar or unreadable input.
constexpr int kNoVerdict = 2;

struct GrammarFlags {
  std::string json_schema;
  std::string gbnf;
  std::string regex;
  std::string choices;
  std::string accepts;
};

tenon::Grammar compile(const GrammarFlags& flags) {
  if (!flags.json_schema.empty()) {
    return tenon::Grammar::json_schema(read_file(flags.json_schema));
  }
  if (!flags.gbnf.empty()) return tenon::Grammar::gbnf(read_file(flags.gbnf));
  if (!flags.choices.empty()) return tenon::Grammar::choices(read_file(flags.choices));
  return tenon::Grammar::regular_expression(flags.regex);
}

bool accepts(const GrammarFlags& flags) {
  try {
    const std::string text = read_file(flags.accepts);
    return compile(flags).accepts(text);
  } catch (const tenon::Error& error) {
    throw Ending(kNoVerdict, error.what());
  } catch (const Failure& failure) {
    throw Ending(kNoVerdict, failure.what());
  }
}

void check_text(const GrammarFlags& flags) {
  if (!accepts(flags)) throw Ending(kRejected, flags.accepts + ": rejected");
}

}  // namespace

void add_grammar(CLI::App& app) {
  auto flags = std::make_shared<GrammarFlags>();
  CLI::App* command = app.add_subcommand(
      "grammar",
      "Tell whether a text is one of a grammar: exit code 0 accepted, 1 rejected, 2 the "
      "grammar is refused or a file cannot be read");
  CLI::Option_group* kinds = command->add_option_group("Grammar", "one of");
  kinds->add_option("--json-schema", flags->json_schema, "JSON Schema file (draft 2020-12)");
  kinds->add_option("--gbnf", flags->gbnf, "GBNF file");
  kinds->add_option("--regex", flags->regex, "Regular expression that the whole text matches");
  kinds->add_option("--choices", flags->choices, "File with a JSON array of strings");
  kinds->require_option(1);
  command->add_option("--accepts", flags->accepts, "File with the text (-: standard input)")
      ->required();
  command->callback([flags] { check_text(*flags); });
}

}  // namespace tenon_program
