// tenon quantize: a model file with its matrices in formats of fewer bits; tenon convert: a folder as
// a file.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <tenon/tenon.hpp>
#include <vector>

#include "commands.h"
#include "format_text.h"
#include "interruption.h"
#include "number_lists.h"
#include "terminal.h"

namespace tenon_program {
namespace {

struct QuantizeFlags {
  std::string model;
  std::string type;
  std::string path;
  std::vector<std::string> tensor_formats;
  std::string output_format;
  std::string embedding_format;
  tenon::QuantizeOptions options;
  bool dry_run = false;
  std::string adapter;
};

void print_plan(const QuantizeFlags& flags) {
  uint64_t before = 0;
  uint64_t after = 0;
  for (const tenon::TensorChange& change : tenon::quantize_plan(flags.model, flags.options)) {
    before += change.bytes_before;
    after += change.bytes_after;
    print(change.name + ": " + change.from +
          (change.to == change.from ? ", stays" : " -> " + change.to) + ", " +
          size_text(change.bytes_after) + "\n");
  }
  print(size_text(before) + " -> " + size_text(after) + "\n");
  flush();
}

void print_size(const std::string& path) {
  std::error_code ignored;
  print(path + ": " + size_text(std::filesystem::file_size(path, ignored)) + "\n");
  flush();
}

void quantize(QuantizeFlags flags) {
  flags.options.type = flags.type;
  if (!flags.output_format.empty()) {
    flags.tensor_formats.push_back("@output=" + flags.output_format);
  }
  if (!flags.embedding_format.empty()) {
    flags.tensor_formats.push_back("@embedding=" + flags.embedding_format);
  }
  flags.options.formats = joined(flags.tensor_formats, "\n");
  if (flags.dry_run) return print_plan(flags);
  if (flags.path.empty()) throw CLI::RequiredError("OUT");
  ProgressBar progress(flags.type.empty() ? "converting" : "quantising");
  const Interruption interruption;
  flags.options.progress = [&](double fraction) {
    interruption.check();
    progress.update(fraction);
    return true;
  };
  tenon::quantize(flags.model, flags.path, flags.options);
  progress.clear();
  print_size(flags.path);
}

/// Tells why other programs cannot read the tokenizer of a converted folder.
void print_tokenizer_note(const std::string& path) {
  constexpr std::string_view kOnly = "tokenizer.huggingface.only";
  const tenon::Model model(path, {.metadata_only = true});
  for (size_t i = 0; i < model.num_metadata(); ++i) {
    const tenon_metadata entry = model.metadata(i);
    if (std::string_view(entry.key, entry.key_length) != kOnly) continue;
    print("llama.cpp does not read its tokenizer: " + std::string(model.metadata_value(i).text) +
          "\n");
  }
  flush();
}

}  // namespace

void add_quantize(CLI::App& app) {
  auto flags = std::make_shared<QuantizeFlags>();
  tenon::QuantizeOptions& options = flags->options;
  CLI::App* command =
      app.add_subcommand("quantize", "Write a model file with fewer bits for each weight");
  command
      ->add_option("MODEL", flags->model, "GGUF file in F16, BF16 or F32, or a Hugging Face folder")
      ->required();
  command
      ->add_option("TYPE", flags->type,
                   "Type of the file: " + joined(tenon::quantize_types(), ", "))
      ->required();
  command->add_option("OUT", flags->path, "GGUF file to write");
  command->add_flag("--dry-run", flags->dry_run,
                    "Print format and size of each tensor; write nothing");
  command
      ->add_option("--tensor-type", flags->tensor_formats,
                   "Format of matrices whose name has this pattern, a regular expression; the "
                   "first that fits counts")
      ->type_name("PATTERN=FORMAT");
  command
      ->add_option("--output-type,--output-tensor-type", flags->output_format,
                   "Format of the output matrix")
      ->type_name("FORMAT");
  command
      ->add_option("--embedding-type,--token-embedding-type", flags->embedding_format,
                   "Format of the embedding")
      ->type_name("FORMAT");
  command->add_flag("--pure", options.pure, "One format for all matrices, without rules by layer");
  command->add_flag("--leave-output-tensor", options.keep_output,
                    "Leave the output matrix as it is");
  command->add_flag("--allow-requantize", options.again,
                    "Accept matrices that are quantised already; they lose quality again");
  command
      ->add_option("--imatrix", options.importance,
                   "Importance matrix: weighs the error of each weight")
      ->type_name("FILE");
  command->add_flag("--without-importance", options.without_importance,
                    "Accept types of one to three bits without an importance matrix; answers are "
                    "poor");
  command->add_option("--threads,-t", options.threads, "Threads; 0: all that may be used")
      ->type_name("N")
      ->check(whole_number(0, 1024));
  command->callback([flags] { quantize(*flags); });
}

void add_convert(CLI::App& app) {
  auto flags = std::make_shared<QuantizeFlags>();
  CLI::App* command = app.add_subcommand(
      "convert",
      "Write a Hugging Face folder as one GGUF file. Tensors keep their formats; those that no GGUF "
      "file holds become F32");
  command->add_option("MODEL", flags->model, "Hugging Face folder")->required();
  command->add_option("OUT", flags->path, "GGUF file to write");
  command
      ->add_option("--outtype,--type", flags->type,
                   "Type of the file instead: " + joined(tenon::quantize_types(), ", "))
      ->type_name("TYPE");
  command->add_flag("--dry-run", flags->dry_run,
                    "Print format and size of each tensor; write nothing");
  command->add_option("--threads,-t", flags->options.threads, "Threads; 0: all that may be used")
      ->type_name("N")
      ->check(whole_number(0, 1024));
  command
      ->add_option("--lora", flags->adapter,
                   "Write this adapter of MODEL as a GGUF file instead: a PEFT folder")
      ->type_name("ADAPTER");
  command->callback([flags] {
    if (flags->adapter.empty()) {
      quantize(*flags);
      if (!flags->dry_run) print_tokenizer_note(flags->path);
      return;
    }
    if (flags->path.empty()) throw CLI::RequiredError("OUT");
    tenon::convert_adapter(flags->adapter, flags->model, flags->path);
    print_size(flags->path);
  });
}

}  // namespace tenon_program
