// tenon imatrix: the importance matrix of a model, for tenon quantize.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <tenon/tenon.hpp>

#include "commands.h"
#include "format_text.h"
#include "hub_access.h"
#include "input_files.h"
#include "interruption.h"
#include "number_lists.h"
#include "option_flags.h"
#include "terminal.h"

namespace tenon_program {
namespace {

struct ImatrixFlags {
  std::string model;
  std::string file;
  std::string target;
  tenon::ImportanceOptions options;
  OptionFlags model_options;
};

void imatrix(ImatrixFlags flags) {
  const std::string text = read_file(flags.file);
  flags.options.dataset =
      flags.file == "-" ? "" : std::filesystem::path(flags.file).filename().string();
  flags.options.model.extra = flags.model_options.values();
  ProgressBar progress("computing");
  const Interruption interruption;
  flags.options.progress = [&](double fraction) {
    interruption.check();
    progress.update(fraction);
    return true;
  };
  tenon::write_importance(flags.model, text, flags.target, flags.options);
  progress.clear();
  std::error_code ignored;
  print(flags.target + ": " + size_text(std::filesystem::file_size(flags.target, ignored)) + "\n");
  flush();
}

}  // namespace

void add_imatrix(CLI::App& app) {
  auto flags = std::make_shared<ImatrixFlags>();
  tenon::ImportanceOptions& options = flags->options;
  CLI::App* command = app.add_subcommand(
      "imatrix",
      "Write the importance matrix of a model: how much each input of its matrices matters for a "
      "text. Take texts that the model is for; 50,000 tokens are plenty");
  command->add_option("-m,--model,MODEL", flags->model, "GGUF file, best in F16, BF16 or F32")
      ->required();
  command->add_option("-f,--file", flags->file, "The text (-: standard input)")
      ->required()
      ->type_name("FILE");
  command->add_option("-o,--output,OUT", flags->target, "File to write")
      ->default_val("imatrix.gguf")
      ->type_name("FILE");
  command->add_option("-c,--context", options.chunk_tokens, "Tokens of a chunk; 0: 512")
      ->type_name("TOKENS")
      ->check(whole_number(0, 1u << 20));
  command->add_option("--chunks", options.max_chunks, "Only the first ones; 0: all")
      ->type_name("COUNT")
      ->check(whole_number(0, 1u << 30));
  command->add_option("--in-file", options.add_to, "Importance matrix to which the text is added")
      ->type_name("FILE");
  command->add_flag("--parse-special", options.parse_special, "The text may spell control tokens");
  command->add_flag("--process-output", options.with_output, "Also the output matrix");
  flags->model_options.add(*command, TENON_SCOPE_MODEL, "Model",
                           {"vocabulary_only", "inspect", "embeddings", "context"});
  command->callback([flags] {
    flags->model = model_path(flags->model);
    imatrix(*flags);
  });
}

}  // namespace tenon_program
