// tenon tokenize: token ids of a text.
#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "failure.h"
#include "hub_access.h"
#include "input_files.h"
#include "option_flags.h"
#include "terminal.h"

namespace tenon_program {
namespace {

struct TokenizeFlags {
  std::string model;
  std::string text;
  std::string file;
  bool has_text = false;
  bool add_special = false;
  bool parse_special = false;
};

void tokenize(const TokenizeFlags& flags) {
  if (!flags.has_text && flags.file.empty()) {
    throw Failure("there is nothing to tokenize; give a TEXT or --file");
  }
  const std::string text = flags.has_text ? flags.text : read_file(flags.file);
  const tenon::TokenizerFile file(flags.model);
  const std::vector<tenon::Token> tokens = file.tokenizer().encode(
      text, {.add_special = flags.add_special, .parse_special = flags.parse_special});
  std::string line;
  for (const tenon::Token token : tokens) {
    if (!line.empty()) line += ' ';
    line += std::to_string(token);
  }
  print(line + "\n");
  flush();
}

}  // namespace

void add_tokenize(CLI::App& app) {
  auto flags = std::make_shared<TokenizeFlags>();
  CLI::App* command = app.add_subcommand(
      "tokenize", "Print the token ids of a text on one line (needs a vocabulary only)");
  command->add_option("-m,--model,MODEL", flags->model, "GGUF file or tokenizer.json")->required();
  CLI::Option* text = command->add_option("TEXT", flags->text, "Text to tokenize");
  command->add_option("-f,--file", flags->file, "Read the text from a file (-: standard input)")
      ->excludes(text);
  command->add_flag("--add-special", flags->add_special,
                    "Add the begin and end tokens where the model wants them");
  command->add_flag("--parse-special", flags->parse_special,
                    "Read spelled control tokens as control tokens");
  command->callback([flags, text] {
    flags->has_text = text->count() > 0;
    flags->model = model_path(flags->model);
    tokenize(*flags);
  });
}

}  // namespace tenon_program
