// POST /v1/embeddings, /v1/rerank and /v1/score, for models opened as embedding models.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "server/answers/compute_steps.h"
#include "server/json/json_text.h"
#include "server/json/random_id.h"
#include "server/protocols/sampling_fields.h"
#include "server/routes.h"

namespace tenon_http {
namespace {

constexpr size_t kMaxInputs = 8192;

/// Bounds on the texts in one step; other requests compute between steps.
constexpr size_t kStepInputs = 64;
constexpr size_t kStepBytes = size_t{32} << 10;

/// Base64 of RFC 4648, with padding.
std::string base64(const unsigned char* bytes, size_t size) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < size; i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (i + k < size ? bytes[i + k] : 0u);
    for (size_t k = 0; k < 4; ++k) {
      text += i + k <= size ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

/// Number of texts in the step that begins at `begin`. size_of(i): bytes of text i.
template <typename SizeOf>
size_t step_size(size_t begin, size_t end, SizeOf size_of) {
  size_t count = 1;
  size_t bytes = size_of(begin);
  for (; begin + count < end && count < kStepInputs; ++count) {
    bytes += size_of(begin + count);
    if (bytes > kStepBytes) break;
  }
  return count;
}

Json row_json(std::span<const float> row, bool as_base64) {
  if (!as_base64) return Json(std::vector<float>(row.begin(), row.end()));
  static_assert(std::endian::native == std::endian::little);  // byte order that clients expect
  std::vector<unsigned char> bytes(row.size_bytes());
  std::memcpy(bytes.data(), row.data(), bytes.size());
  return base64(bytes.data(), bytes.size());
}

/// Texts or their tokens; one of the two lists is empty.
struct Inputs {
  std::vector<std::string_view> texts{};
  std::vector<std::vector<tenon::Token>> tokens{};
  [[nodiscard]] size_t size() const { return texts.size() + tokens.size(); }
};

Inputs read_inputs(const Fields& fields, const tenon::Tokenizer& tokenizer) {
  const Json& input = fields.required("input");
  Inputs inputs;
  if (input.is_string()) {
    inputs.texts.push_back(input.get_ref<const std::string&>());
    return inputs;
  }
  if (!input.is_array() || input.empty()) {
    fields.refuse("input", "must be a text, token ids, or a list of such that is not empty");
  }
  if (input[0].is_number()) {
    inputs.tokens.push_back(read_token_ids(input, "input", tokenizer));
    return inputs;
  }
  if (input.size() > kMaxInputs) fields.refuse("input", "has more than 8192 items");
  for (size_t i = 0; i < input.size(); ++i) {
    if (input[i].is_string() && inputs.tokens.empty()) {
      inputs.texts.push_back(input[i].get_ref<const std::string&>());
    } else if (input[i].is_array() && inputs.texts.empty()) {
      inputs.tokens.push_back(read_token_ids(input[i], item_path("input", i), tokenizer));
    } else {
      fields.refuse("input", "must hold texts, or lists of token ids");
    }
  }
  return inputs;
}

size_t bytes_of(const Inputs& inputs, size_t index) {
  return inputs.tokens.empty() ? inputs.texts[index].size()
                               : inputs.tokens[index].size() * sizeof(tenon::Token);
}

tenon::Rows embed(const tenon::Embedder& embedder, const Inputs& inputs, size_t begin,
                  size_t count) {
  if (inputs.tokens.empty()) return embedder.embed(std::span(inputs.texts).subspan(begin, count));
  const auto part = std::span(inputs.tokens).subspan(begin, count);
  std::vector<std::span<const tenon::Token>> spans(part.begin(), part.end());
  return embedder.embed_tokens(spans);
}

size_t count_tokens(const Inputs& inputs, size_t index, const tenon::Tokenizer& tokenizer) {
  if (!inputs.tokens.empty()) return inputs.tokens[index].size();
  return tokenizer.encode(inputs.texts[index], {.add_special = true}).size();
}

/// Embedder for one request, cancelled when its client leaves.
std::shared_ptr<tenon::Embedder> make_embedder(const HttpRequest& request, const ServedModel& model,
                                               const tenon::EmbedderOptions& options) {
  auto embedder = std::make_shared<tenon::Embedder>(model.make_embedder(options));
  request.interest->on_end([weak = std::weak_ptr(embedder)] {
    if (const auto running = weak.lock()) running->cancel();
  });
  return embedder;
}

/// Reads documents of Cohere's and Jina's interfaces.
std::vector<std::string_view> read_documents(const Fields& fields) {
  const Json* documents = fields.list("documents");
  if (documents == nullptr || documents->empty()) {
    fields.refuse("documents", "must be a list of texts that is not empty");
  }
  if (documents->size() > kMaxInputs) fields.refuse("documents", "has more than 8192 items");
  std::vector<std::string_view> texts;
  for (size_t i = 0; i < documents->size(); ++i) {
    const Json& document = (*documents)[i];
    if (document.is_string()) {
      texts.push_back(document.get_ref<const std::string&>());
    } else {
      texts.push_back(Fields(document, item_path("documents", i)).required_text("text"));
    }
  }
  return texts;
}

std::vector<std::string_view> read_text_list(const Fields& fields, std::string_view name) {
  const Json& value = fields.required(name);
  if (!value.is_array() || value.empty()) {
    fields.refuse(name, "must be a list of texts that is not empty");
  }
  if (value.size() > kMaxInputs) fields.refuse(name, "has more than 8192 items");
  std::vector<std::string_view> texts;
  for (const Json& text : value) {
    if (!text.is_string()) fields.refuse(name, "must hold texts");
    texts.push_back(text.get_ref<const std::string&>());
  }
  return texts;
}

/// Reads a text, or a non-empty list of texts.
std::vector<std::string_view> read_texts(const Fields& fields, std::string_view name) {
  const Json& value = fields.required(name);
  if (value.is_string()) return {value.get_ref<const std::string&>()};
  if (!value.is_array() || value.empty()) {
    fields.refuse(name, "must be a text, or a list of texts that is not empty");
  }
  return read_text_list(fields, name);
}

/// Names of the fields for error messages.
struct RankFields {
  const char* query;
  const char* documents;
};

/// Scores the documents against the query: [documents].
std::vector<float> rank(const tenon::Embedder& embedder, const ServedModel& model,
                        std::string_view query, std::span<const std::string_view> documents,
                        const RankFields& fields) {
  std::vector<float> scores;
  try {
    scores = embedder.rank(query, documents);
  } catch (const tenon::Error& error) {
    const size_t size = model.tokenizer().encode(query, {.add_special = true}).size();
    const bool is_of_query = size == 0 || size > model.context();
    throw api_error_of(error, is_of_query ? fields.query : fields.documents);
  }
  // A classifier with several labels returns several numbers; the first is the score.
  const size_t stride = scores.size() / documents.size();
  for (size_t i = 0; i < documents.size(); ++i) scores[i] = scores[i * stride];
  scores.resize(documents.size());
  return scores;
}

size_t count_pair_tokens(const tenon::Tokenizer& tokenizer, std::string_view query,
                         std::span<const std::string_view> documents) {
  size_t count = documents.size() * tokenizer.encode(query).size();
  for (const std::string_view document : documents) count += tokenizer.encode(document).size();
  return count;
}

/// Embedding request; its answer grows with each step. Views point into its body.
struct Embedding {
  Json body;
  const ServedModel* model = nullptr;
  std::shared_ptr<tenon::Embedder> embedder{};
  Inputs inputs = Inputs();
  bool as_base64 = false;
  size_t num_done = 0;
  size_t tokens = 0;
  ListText data{};

  std::optional<HttpAnswer> step() {
    const size_t count = step_size(num_done, inputs.size(),
                                   [this](size_t index) { return bytes_of(inputs, index); });
    tenon::Rows rows;
    try {
      rows = embed(*embedder, inputs, num_done, count);
    } catch (const tenon::Error& error) {
      throw api_error_of(error, "input");
    }
    for (size_t i = 0; i < count; ++i, ++num_done) {
      data.add(to_text({{"object", "embedding"},
                        {"index", num_done},
                        {"embedding", row_json(rows[i], as_base64)}}));
      tokens += count_tokens(inputs, num_done, model->tokenizer());
    }
    if (num_done < inputs.size()) return std::nullopt;
    std::string text = open_text({{"object", "list"}, {"model", model->name()}});
    text.append(",\"data\":").append(data.take());
    append_members(text, {{"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}});
    return HttpAnswer{.body = text + "}"};
  }
};

/// Pairs to score: each text of `queries` with its documents.
struct Ranking {
  Json body;
  const ServedModel* model = nullptr;
  std::shared_ptr<tenon::Embedder> embedder{};
  RankFields fields{};
  std::vector<std::string_view> queries{};  ///< a single query, or one per document
  std::vector<std::string_view> documents{};
  std::vector<float> scores{};  ///< [documents]; filled step by step
  size_t tokens = 0;

  /// Scores the next pairs; true after the last.
  bool step() {
    const size_t begin = scores.size();
    const bool is_one = queries.size() == 1;
    const size_t count = is_one
                             ? step_size(begin, documents.size(),
                                         [this](size_t index) { return documents[index].size(); })
                             : 1;
    const std::string_view query = queries[is_one ? 0 : begin];
    const auto part = std::span(documents).subspan(begin, count);
    const std::vector<float> found = rank(*embedder, *model, query, part, fields);
    scores.insert(scores.end(), found.begin(), found.end());
    tokens += count_pair_tokens(model->tokenizer(), query, part);
    return scores.size() == documents.size();
  }
};

/// Format of a rerank answer.
struct RankAnswer {
  bool is_bare = false;  ///< bare list, as in text-embeddings-inference, for `texts`
  bool returns_texts = false;
  bool is_raw = false;  ///< is_bare only: returns a classifier's scores unchanged
  size_t top = 0;       ///< maximum results
};

RankAnswer read_rank_answer(const Fields& fields) {
  RankAnswer answer{.is_bare = fields.has("texts")};
  if (answer.is_bare && fields.has("documents")) {
    fields.refuse("texts", "cannot stand beside documents");
  }
  const bool returns_documents = fields.boolean("return_documents").value_or(false);
  answer.returns_texts = fields.boolean("return_text").value_or(false) || returns_documents;
  answer.is_raw = fields.boolean("raw_scores").value_or(false);
  answer.top = static_cast<size_t>(fields.integer("top_n", 1, INT32_MAX).value_or(INT32_MAX));
  return answer;
}

/// True if long texts are truncated at the end.
bool read_truncation(const Fields& fields) {
  const std::string* direction = fields.text("truncation_direction");
  if (direction != nullptr && *direction != "Right" && *direction != "right") {
    fields.refuse("truncation_direction", R"(must be "right": texts lose their end)");
  }
  return fields.boolean("truncate").value_or(false);
}

/// Indices of the best scores, best first.
std::vector<size_t> best_of(const std::vector<float>& scores, size_t top) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t left, size_t right) { return scores[left] > scores[right]; });
  order.resize(std::min(order.size(), top));
  return order;
}

std::string ranking(const Ranking& run, const RankAnswer& answer) {
  Json results = Json::array();
  for (const size_t index : best_of(run.scores, answer.top)) {
    Json result{{"index", index}, {"relevance_score", run.scores[index]}};
    if (answer.returns_texts) result["document"] = {{"text", run.documents[index]}};
    results.push_back(std::move(result));
  }
  return to_text({{"id", random_id("rerank-")},
                  {"model", run.model->name()},
                  {"results", std::move(results)},
                  {"usage", {{"prompt_tokens", run.tokens}, {"total_tokens", run.tokens}}}});
}

std::string bare_ranking(const Ranking& run, const RankAnswer& answer) {
  const tenon_embedder_info info = run.embedder->info();
  const bool is_logit = info.pooling == TENON_POOLING_RANK && info.dimensions == 1;
  Json results = Json::array();
  for (const size_t index : best_of(run.scores, answer.top)) {
    const double score = run.scores[index];
    Json result{{"index", index}};
    if (answer.returns_texts) result["text"] = run.documents[index];
    result["score"] = is_logit && !answer.is_raw ? 1 / (1 + std::exp(-score)) : score;
    results.push_back(std::move(result));
  }
  return to_text(results);
}

}  // namespace

Start handle_embeddings(const HttpRequest& request, ServerState& state) {
  const auto run = std::make_shared<Embedding>(Embedding{.body = parse_json(request.body)});
  const Fields fields(run->body);
  const ServedModel& model = state.model(fields, request);
  run->model = &model;
  run->inputs = read_inputs(fields, model.tokenizer());
  (void)fields.text("user");
  const std::string* format = fields.text("encoding_format");
  if (format != nullptr && *format != "float" && *format != "base64") {
    fields.refuse("encoding_format", R"(must be "float" or "base64")");
  }
  tenon::EmbedderOptions options;
  options.dimensions = fields.integer("dimensions", 1, 1 << 20);
  run->as_base64 = format != nullptr && *format == "base64";
  try {
    run->embedder = make_embedder(request, model, options);
  } catch (const tenon::Error& error) {
    const bool of_dimensions = options.dimensions && error.code() == tenon::Code::Argument;
    throw api_error_of(error, of_dimensions ? "dimensions" : "input");
  }
  return compute_in_steps([run] { return run->step(); }, state);
}

Start handle_rerank(const HttpRequest& request, ServerState& state) {
  const auto run = std::make_shared<Ranking>(Ranking{.body = parse_json(request.body)});
  const Fields fields(run->body);
  const ServedModel& model = state.model(fields, request);
  const RankAnswer answer = read_rank_answer(fields);
  run->model = &model;
  run->fields = {"query", answer.is_bare ? "texts" : "documents"};
  run->queries = {fields.required_text("query")};
  run->documents = answer.is_bare ? read_text_list(fields, "texts") : read_documents(fields);
  run->embedder = make_embedder(request, model, {.truncate = read_truncation(fields)});
  const auto step = [run, answer]() -> std::optional<HttpAnswer> {
    if (!run->step()) return std::nullopt;
    return HttpAnswer{.body = answer.is_bare ? bare_ranking(*run, answer) : ranking(*run, answer)};
  };
  return compute_in_steps(step, state);
}

Start handle_score(const HttpRequest& request, ServerState& state) {
  const auto run = std::make_shared<Ranking>(Ranking{.body = parse_json(request.body)});
  const Fields fields(run->body);
  const ServedModel& model = state.model(fields, request);
  run->model = &model;
  run->fields = {"text_1", "text_2"};
  const std::vector<std::string_view>& left = run->queries = read_texts(fields, "text_1");
  const std::vector<std::string_view>& right = run->documents = read_texts(fields, "text_2");
  if (left.size() != 1 && left.size() != right.size()) {
    fields.refuse("text_2", "must be as many texts as text_1 has, if that is not one");
  }
  run->embedder = make_embedder(request, model, {});
  const auto step = [run]() -> std::optional<HttpAnswer> {
    if (!run->step()) return std::nullopt;
    Json data = Json::array();
    for (const float score : run->scores) {
      data.push_back({{"index", data.size()}, {"object", "score"}, {"score", score}});
    }
    return HttpAnswer{
        .body =
            to_text({{"id", random_id("score-")},
                     {"object", "list"},
                     {"model", run->model->name()},
                     {"data", std::move(data)},
                     {"usage", {{"prompt_tokens", run->tokens}, {"total_tokens", run->tokens}}}})};
  };
  return compute_in_steps(step, state);
}

}  // namespace tenon_http
