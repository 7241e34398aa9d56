// tenon perplexity: a model's perplexity on a text.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "commands.h"
#include "failure.h"
#include "format_text.h"
#include "hub_access.h"
#include "input_files.h"
#include "number_lists.h"
#include "option_flags.h"
#include "terminal.h"

namespace tenon_program {
namespace {

struct PerplexityFlags {
  std::string model;
  std::string file;
  uint64_t context = 512;
  uint64_t chunks = 0;  // 0 means all
  bool json = false;
  OptionFlags model_options;
};

/// Statistics of scored tokens' surprise, in nats.
class Surprise {
 public:
  void add(double negative_logprob) {
    ++count_;
    sum_ += negative_logprob;
    squares_ += negative_logprob * negative_logprob;
  }
  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] double mean() const { return sum_ / static_cast<double>(count_); }
  /// Standard error of the mean, assuming independent tokens.
  [[nodiscard]] double error() const {
    if (count_ < 2) return 0;
    const double variance = squares_ / static_cast<double>(count_) - mean() * mean();
    return variance <= 0 ? 0 : std::sqrt(variance / static_cast<double>(count_ - 1));
  }

 private:
  uint64_t count_ = 0;
  double sum_ = 0;
  double squares_ = 0;
};

/// Token that the vocabulary puts before every text; may be empty.
std::vector<tenon::Token> first_of_texts(const tenon::Tokenizer& tokenizer) {
  const auto begin = tokenizer.special(TENON_SPECIAL_BEGIN);
  const std::vector<tenon::Token> added = tokenizer.encode("", {.add_special = true});
  if (!begin || added.empty() || added.front() != *begin) return {};
  return {*begin};
}

/// Scores the second half of a chunk, so that each token has at least half a chunk of context.
void score(tenon::Session& session, std::span<const tenon::Token> chunk, Surprise& surprise) {
  const size_t half = chunk.size() / 2;
  session.rewind(0);
  session.append(chunk.first(half));
  session.prefill();
  const auto scored = chunk.subspan(half);
  session.evaluate(scored.first(scored.size() - 1),
                   [&](uint64_t row, std::span<const float> logits) {
                     const auto next = scored.subspan(static_cast<size_t>(row) + 1, 1);
                     surprise.add(-double{tenon::logprobs(logits, next).front().logprob});
                     return true;
                   });
}

void perplexity(const PerplexityFlags& flags) {
  const std::string text = read_file(flags.file);
  ProgressBar loading("loading");
  const tenon::Log log = warnings();
  const tenon::Model model(
      flags.model,
      {.extra = flags.model_options.values(), .progress = loading.callback(), .log = &log});
  loading.clear();
  const auto size = static_cast<size_t>(flags.context);
  std::vector<tenon::Token> tokens = model.tokenizer().encode(text, {.add_special = true});
  const size_t fitting = tokens.size() / size;
  if (fitting == 0) {
    throw Failure(flags.file + ": " + counted(tokens.size(), "token") + " fill no chunk of " +
                  std::to_string(size) + "; give a longer text or a smaller --context");
  }
  const size_t chunks =
      flags.chunks == 0 ? fitting : static_cast<size_t>(std::min<uint64_t>(flags.chunks, fitting));
  const std::vector<tenon::Token> first = first_of_texts(model.tokenizer());
  tenon::Session session(model, {.context = static_cast<int64_t>(size)});
  ProgressBar computing("computing");
  Surprise surprise;
  for (size_t i = 0; i < chunks; ++i) {
    const auto chunk = std::span(tokens).subspan(i * size, size);
    if (!first.empty()) chunk.front() = first.front();
    score(session, chunk, surprise);
    computing.update(static_cast<double>(i + 1) / static_cast<double>(chunks));
  }
  computing.clear();
  const double value = std::exp(surprise.mean());
  const double error = value * surprise.error();
  const auto scored = static_cast<unsigned long long>(surprise.count());
  if (flags.json) {
    print(
        format_text("{\"perplexity\": %.9g, \"error\": %.9g, \"scored_tokens\": %llu, "
                    "\"chunks\": %zu, \"context\": %zu}\n",
                    value, error, scored, chunks, size));
  } else {
    print(format_text("perplexity %.4f +- %.4f over %llu tokens in %s of %zu\n", value, error,
                      scored, counted(chunks, "chunk").c_str(), size));
  }
  flush();
}

}  // namespace

void add_perplexity(CLI::App& app) {
  auto flags = std::make_shared<PerplexityFlags>();
  CLI::App* command = app.add_subcommand(
      "perplexity",
      "Print how well a model predicts a text: exp of the mean negative log probability of its "
      "tokens. The text is cut into chunks as long as the context, each computed by itself, and "
      "the second half of each is scored, as usual; where the vocabulary has a first token of "
      "texts, a chunk begins with it");
  command->add_option("-m,--model,MODEL", flags->model, "GGUF file")->required();
  command->add_option("-f,--file", flags->file, "The text (-: standard input)")
      ->required()
      ->type_name("FILE");
  command->add_option("-c,--context", flags->context, "Tokens of a chunk")
      ->type_name("TOKENS")
      ->check(whole_number(4, 1u << 30))
      ->capture_default_str();
  command->add_option("--chunks", flags->chunks, "Only the first ones; 0: all")
      ->type_name("COUNT")
      ->check(whole_number(0, 1u << 30))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "Print an object on one line");
  flags->model_options.add(*command, TENON_SCOPE_MODEL, "Model",
                           {"vocabulary_only", "inspect", "embeddings", "context"});
  command->callback([flags] {
    flags->model = model_path(flags->model);
    perplexity(*flags);
  });
}

}  // namespace tenon_program
