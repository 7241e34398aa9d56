// tenon rerank: orders texts by how well they answer a query.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "failure.h"
#include "hub_access.h"
#include "json_files.h"
#include "option_flags.h"
#include "terminal.h"
#include "text_rows.h"

namespace tenon_program {
namespace {

struct RerankFlags {
  std::string model;
  std::string query;
  std::vector<std::string> documents;
  std::string file;
  bool json = false;
  OptionFlags embedder_options;
  OptionFlags model_options;
};

constexpr size_t kShownDocumentBytes = 200;

void rerank(const RerankFlags& flags) {
  const auto documents = flags.file.empty() ? flags.documents : read_lines(flags.file);
  if (documents.empty()) throw Failure("there is nothing to rank; give DOCs or --file");
  ProgressBar loading("loading");
  const tenon::Log log = warnings();
  const tenon::Model model(flags.model, {.embeddings = "on",
                                         .extra = flags.model_options.values(),
                                         .progress = loading.callback(),
                                         .log = &log});
  loading.clear();
  const tenon::Embedder embedder(model, {.extra = flags.embedder_options.values()});
  const std::vector<std::string_view> views(documents.begin(), documents.end());
  const std::vector<float> scores = embedder.rank(flags.query, views);
  const size_t labels = scores.size() / documents.size();
  std::vector<size_t> order(documents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // The first label is relevance.
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a * labels] > scores[b * labels]; });
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const size_t index : order) {
    if (!flags.json) {
      std::string line;
      for (size_t i = 0; i < labels; ++i) line += number_text(scores[index * labels + i]) + '\t';
      print(line + std::to_string(index) + '\t' + printable(documents[index], kShownDocumentBytes) +
            '\n');
      continue;
    }
    const float* first = scores.data() + index * labels;
    nlohmann::ordered_json result{{"index", index}, {"score", *first}};
    if (labels > 1) result["scores"] = std::vector<float>(first, first + labels);
    result["document"] = documents[index];
    results.push_back(std::move(result));
  }
  if (flags.json) print(json_line({{"results", results}}) + "\n");
  flush();
}

}  // namespace

void add_rerank(CLI::App& app) {
  auto flags = std::make_shared<RerankFlags>();
  CLI::App* command = app.add_subcommand(
      "rerank", "Print texts, best first, by how well they answer a query: score, number, text");
  command->add_option("-m,--model,MODEL", flags->model, "GGUF file: a reranker, or any that embeds")
      ->required();
  command->add_option("-q,--query", flags->query, "What is asked for")->required();
  CLI::Option* documents = command->add_option("DOC", flags->documents, "Texts to rank");
  command->add_option("-f,--file", flags->file, "Read a text from each line (-: standard input)")
      ->excludes(documents);
  command->add_flag("--json", flags->json, "Print an object with the results");
  flags->embedder_options.add(*command, TENON_SCOPE_EMBEDDER, "Embedding");
  flags->model_options.add(*command, TENON_SCOPE_MODEL, "Model",
                           {"vocabulary_only", "inspect", "embeddings"});
  command->callback([flags] {
    flags->model = model_path(flags->model);
    rerank(*flags);
  });
}

}  // namespace tenon_program
