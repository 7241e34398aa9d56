// tenon make-model: writes a model with random weights, for measurements without a download.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "commands.h"
#include "format_text.h"
#include "host.h"
#include "interruption.h"
#include "number_lists.h"
#include "terminal.h"

namespace tenon_program {
namespace {

struct MakeModelFlags {
  std::string shape;
  std::string format;
  std::string path;
  uint64_t seed = 0;
};

void make_model(const MakeModelFlags& flags) {
  ProgressBar progress("writing");
  const Interruption interruption;
  tenon::write_random_model(flags.path, flags.shape, flags.format,
                            {.seed = flags.seed, .progress = [&](double fraction) {
                               interruption.check();
                               progress.update(fraction);
                               return true;
                             }});
  progress.clear();
  std::error_code ignored;
  print(flags.path + ": " + size_text(std::filesystem::file_size(path_of(flags.path), ignored)) +
        "\n");
  flush();
}

}  // namespace

void add_make_model(CLI::App& app) {
  auto flags = std::make_shared<MakeModelFlags>();
  CLI::App* command = app.add_subcommand(
      "make-model", "Write a model of a known shape with random weights: to measure");
  command
      ->add_option("SHAPE", flags->shape,
                   "Name of a shape; NAME:N for its first N layers: " +
                       joined(tenon::random_model_shapes(), ", "))
      ->required();
  command->add_option("FORMAT", flags->format, joined(tenon::random_model_formats(), ", "))
      ->required();
  command->add_option("OUT", flags->path, "GGUF file to write")->required();
  command->add_option("--seed", flags->seed, "Another seed, other weights (default 0)")
      ->type_name("N")
      ->check(whole_number(0, UINT64_MAX));
  command->callback([flags] { make_model(*flags); });
}

}  // namespace tenon_program
