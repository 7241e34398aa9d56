// tenon embed: embedding rows of texts, and the similarity of texts.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
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

struct EmbedFlags {
  std::string model;
  std::vector<std::string> texts;
  std::string file;
  std::string tokens_file;
  std::string output;
  std::string role = "text";
  bool json = false;
  bool similarity = false;
  OptionFlags embedder_options;
  OptionFlags model_options;
};

tenon::TextRole role_of(const std::string& name) {
  return name == "query"      ? tenon::TextRole::Query
         : name == "document" ? tenon::TextRole::Document
                              : tenon::TextRole::Plain;
}

/// Batch size that lets a progress bar move.
constexpr size_t kTextsOfACall = 256;

tenon::Rows embed_all(const tenon::Embedder& embedder, const EmbedFlags& flags) {
  const auto tokens = flags.tokens_file.empty() ? std::vector<std::vector<tenon::Token>>()
                                                : read_token_lines(flags.tokens_file);
  const auto texts = flags.file.empty() ? flags.texts : read_lines(flags.file);
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const std::vector<std::span<const tenon::Token>> spans(tokens.begin(), tokens.end());
  const size_t count = spans.empty() ? views.size() : spans.size();
  if (count == 0) throw Failure("there is nothing to embed; give TEXTs, --file or --tokens-file");
  ProgressBar computing("computing");
  tenon::Rows all;
  all.dimensions = embedder.dimensions();
  for (size_t first = 0; first < count; first += kTextsOfACall) {
    const size_t now = std::min(kTextsOfACall, count - first);
    const tenon::Rows rows =
        spans.empty() ? embedder.embed(std::span(views).subspan(first, now), role_of(flags.role))
                      : embedder.embed_tokens(std::span(spans).subspan(first, now));
    all.values.insert(all.values.end(), rows.values.begin(), rows.values.end());
    all.num_rows.insert(all.num_rows.end(), rows.num_rows.begin(), rows.num_rows.end());
    computing.update(static_cast<double>(first + now) / static_cast<double>(count));
  }
  return all;
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double product = 0;
  double of_a = 0;
  double of_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += double{a[i]} * b[i];
    of_a += double{a[i]} * a[i];
    of_b += double{b[i]} * b[i];
  }
  return of_a > 0 && of_b > 0 ? product / std::sqrt(of_a * of_b) : 0;
}

void print_similarity(const tenon::Rows& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    std::string line;
    for (size_t j = 0; j < rows.size(); ++j) {
      if (j > 0) line += ' ';
      line += number_text(static_cast<float>(cosine(rows[i], rows[j])));
    }
    print(line + "\n");
  }
}

void print_rows(const tenon::Rows& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    std::string line;
    for (const float value : rows[i]) {
      if (!line.empty()) line += ' ';
      line += number_text(value);
    }
    print(line + "\n");
  }
}

void print_json(const tenon::Rows& rows, bool is_pooled, bool similarity) {
  Json texts = Json::array();
  size_t row = 0;
  for (const uint64_t count : rows.num_rows) {
    Json of_text = Json::array();
    for (const size_t end = row + count; row < end; ++row) {
      of_text.push_back(std::vector<float>(rows[row].begin(), rows[row].end()));
    }
    texts.push_back(is_pooled ? of_text.at(0) : of_text);
  }
  Json all;
  all["dimensions"] = rows.dimensions;
  all["embeddings"] = std::move(texts);
  for (size_t i = 0; similarity && i < rows.size(); ++i) {
    Json line = Json::array();
    for (size_t j = 0; j < rows.size(); ++j) line.push_back(cosine(rows[i], rows[j]));
    all["similarity"].push_back(std::move(line));
  }
  print(json_line(all) + "\n");
}

void embed(const EmbedFlags& flags) {
  ProgressBar loading("loading");
  const tenon::Log log = warnings();
  const tenon::Model model(flags.model, {.embeddings = "on",
                                         .extra = flags.model_options.values(),
                                         .progress = loading.callback(),
                                         .log = &log});
  loading.clear();
  const tenon::Embedder embedder(model, {.extra = flags.embedder_options.values()});
  const bool is_pooled = embedder.info().pooling != TENON_POOLING_NONE;
  if (flags.similarity && !is_pooled) {
    throw Failure("--similarity compares a row for each text; choose another --pooling");
  }
  const tenon::Rows rows = embed_all(embedder, flags);
  if (!flags.output.empty()) write_rows(flags.output, rows.values);
  if (flags.json) {
    print_json(rows, is_pooled, flags.similarity);
  } else if (flags.similarity) {
    print_similarity(rows);
  } else if (flags.output.empty()) {
    print_rows(rows);
  }
  flush();
}

}  // namespace

void add_embed(CLI::App& app) {
  auto flags = std::make_shared<EmbedFlags>();
  CLI::App* command =
      app.add_subcommand("embed", "Print the embeddings of texts, or how alike the texts are");
  command->add_option("-m,--model,MODEL", flags->model, "GGUF file")->required();
  CLI::Option* texts = command->add_option("TEXT", flags->texts, "Texts to embed");
  CLI::Option* file =
      command
          ->add_option("-f,--file", flags->file, "Read a text from each line (-: standard input)")
          ->excludes(texts);
  command
      ->add_option("--tokens-file", flags->tokens_file,
                   "Read token ids from each line; nothing is added to them")
      ->type_name("IDS")
      ->excludes(texts)
      ->excludes(file);
  command
      ->add_option("--role", flags->role,
                   "What the texts are for, where the model wants other words before each")
      ->check(CLI::IsMember({"text", "query", "document"}));
  command->add_flag("--json", flags->json, "Print an object with all rows");
  command->add_flag("--similarity", flags->similarity, "Print the cosine of each text with each");
  command->add_option("--output", flags->output, "Write the rows as little-endian f32")
      ->type_name("OUT");
  flags->embedder_options.add(*command, TENON_SCOPE_EMBEDDER, "Embedding");
  flags->model_options.add(*command, TENON_SCOPE_MODEL, "Model",
                           {"vocabulary_only", "inspect", "embeddings"});
  command->callback([flags] {
    flags->model = model_path(flags->model);
    embed(*flags);
  });
}

}  // namespace tenon_program
