// tenon logits: logits for every token of a list, for evaluation.
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "commands.h"
#include "failure.h"
#include "host.h"
#include "hub_access.h"
#include "input_files.h"
#include "interruption.h"
#include "option_flags.h"
#include "terminal.h"

namespace tenon_program {
namespace {

static_assert(std::endian::native == std::endian::little, "rows are written as they lie in memory");

struct LogitsFlags {
  std::string model;
  std::string tokens_file;
  std::string decoder_tokens_file;
  std::string output;
  std::string cache_type = "f32";
  OptionFlags model_options;
};

/// File of f32 rows. Removed unless finish() was reached.
class LogitsFile {
 public:
  explicit LogitsFile(const std::string& path) : path_(path), file_(open_file(path, "wb")) {
    if (file_ == nullptr) fail();
  }
  ~LogitsFile() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    std::error_code ignored;
    // Keep devices (/dev/null, /dev/stdout).
    if (std::filesystem::is_regular_file(path_of(path_), ignored))
      std::filesystem::remove(path_of(path_), ignored);
  }
  LogitsFile(const LogitsFile&) = delete;
  LogitsFile& operator=(const LogitsFile&) = delete;

  void write(std::span<const float> row) {
    if (std::fwrite(row.data(), sizeof(float), row.size(), file_) != row.size()) fail();
  }
  void finish() {
    if (std::fflush(file_) != 0) fail();
    std::fclose(file_);
    file_ = nullptr;
  }

 private:
  [[noreturn]] void fail() const {
    throw Failure(path_ + ": writing failed: " + std::strerror(errno) +
                  "; make room or choose another --output");
  }
  std::string path_;
  std::FILE* file_;
};

std::vector<tenon::Token> token_ids(const std::string& path) {
  std::vector<tenon::Token> tokens = read_token_ids(path);
  if (tokens.empty()) throw Failure(path + ": holds no token ids; write at least one");
  return tokens;
}

void logits(const LogitsFlags& flags) {
  const std::vector<tenon::Token> first = token_ids(flags.tokens_file);
  const bool has_source = !flags.decoder_tokens_file.empty();
  const std::vector<tenon::Token> tokens =
      has_source ? token_ids(flags.decoder_tokens_file) : first;
  ProgressBar loading("loading");
  const tenon::Model model(flags.model, {.cache_type = flags.cache_type,
                                         .extra = flags.model_options.values(),
                                         .progress = loading.callback()});
  loading.clear();

  tenon::Session session(model, {.context = static_cast<int64_t>(tokens.size())});
  if (has_source) {
    session.set_source(first);
    session.rewind(0);  // the list determines the beginning of the text
  }
  ProgressBar computing("computing");
  const Interruption interruption;
  LogitsFile file(flags.output);
  session.evaluate(tokens, [&](uint64_t row, std::span<const float> values) {
    interruption.check();
    file.write(values);
    computing.update(static_cast<double>(row + 1) / static_cast<double>(tokens.size()));
    return true;
  });
  file.finish();
}

}  // namespace

void add_logits(CLI::App& app) {
  auto flags = std::make_shared<LogitsFlags>();
  CLI::App* command = app.add_subcommand(
      "logits",
      "Write the logits behind every token as little-endian f32 [tokens, vocab]: for evaluation");
  command->add_option("-m,--model,MODEL", flags->model, "GGUF file")->required();
  command->add_option("--tokens-file", flags->tokens_file, "Token ids separated by whitespace")
      ->required()
      ->type_name("IDS");
  command
      ->add_option("--decoder-tokens-file", flags->decoder_tokens_file,
                   "Of a model with an encoder: the ids of the answer, from its first token on; "
                   "--tokens-file then holds those of the source")
      ->type_name("IDS");
  command->add_option("--output", flags->output, "File to write")->required()->type_name("OUT");
  // The default f32 measures the model and not its cache.
  command
      ->add_option("--cache-type", flags->cache_type,
                   "Type of the KV cache, as for run; unlike elsewhere the default is f32, "
                   "for an evaluation measures the model rather than its cache")
      ->type_name("TEXT");
  flags->model_options.add(*command, TENON_SCOPE_MODEL, "Model",
                           {"vocabulary_only", "inspect", "cache_type"});
  command->callback([flags] {
    flags->model = model_path(flags->model);
    logits(*flags);
  });
}

}  // namespace tenon_program
