// POST /v1/embeddings, /v1/rerank and /v1/score, of a model that was opened for them.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "random_id.h"
#include "routes.h"
#include "sampling_fields.h"

namespace tenon_http {
namespace {

constexpr size_t kMaxInputs = 8192;

/// RFC 4648, with padding.
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

Json row_json(std::span<const float> row, bool as_base64) {
  if (!as_base64) return Json(std::vector<float>(row.begin(), row.end()));
  static_assert(std::endian::native == std::endian::little);  // as clients read them
  std::vector<unsigned char> bytes(row.size_bytes());
  std::memcpy(bytes.data(), row.data(), bytes.size());
  return base64(bytes.data(), bytes.size());
}

/// Texts, or their tokens: one of both is empty.
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

tenon::Rows embed(const tenon::Embedder& embedder, const Inputs& inputs) {
  if (inputs.tokens.empty()) return embedder.embed(inputs.texts);
  std::vector<std::span<const tenon::Token>> spans(inputs.tokens.begin(), inputs.tokens.end());
  return embedder.embed_tokens(spans);
}

size_t count_tokens(const Inputs& inputs, const tenon::Tokenizer& tokenizer) {
  size_t count = 0;
  for (const std::string_view text : inputs.texts) {
    count += tokenizer.encode(text, {.add_special = true}).size();
  }
  for (const auto& tokens : inputs.tokens) count += tokens.size();
  return count;
}

/// An embedder of the request's own, which ends when its client leaves.
std::shared_ptr<tenon::Embedder> make_embedder(const HttpRequest& request, const ServedModel& model,
                                               const tenon::EmbedderOptions& options) {
  auto embedder = std::make_shared<tenon::Embedder>(model.make_embedder(options));
  request.interest->on_end([weak = std::weak_ptr(embedder)] {
    if (const auto running = weak.lock()) running->cancel();
  });
  return embedder;
}

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

/// A text, or a list of them that is not empty.
std::vector<std::string_view> read_texts(const Fields& fields, std::string_view name) {
  const Json& value = fields.required(name);
  if (value.is_string()) return {value.get_ref<const std::string&>()};
  if (!value.is_array() || value.empty()) {
    fields.refuse(name, "must be a text, or a list of texts that is not empty");
  }
  if (value.size() > kMaxInputs) fields.refuse(name, "has more than 8192 items");
  std::vector<std::string_view> texts;
  for (const Json& text : value) {
    if (!text.is_string()) fields.refuse(name, "must hold texts");
    texts.push_back(text.get_ref<const std::string&>());
  }
  return texts;
}

/// What a refusal names.
struct RankFields {
  const char* query;
  const char* documents;
};

/// [documents] how well each answers the query.
std::vector<float> rank(const HttpRequest& request, const ServedModel& model,
                        std::string_view query, std::span<const std::string_view> documents,
                        const RankFields& fields) {
  std::vector<float> scores;
  try {
    scores = make_embedder(request, model, {})->rank(query, documents);
  } catch (const tenon::Error& error) {
    const size_t size = model.tokenizer().encode(query, {.add_special = true}).size();
    const bool is_of_query = size == 0 || size > model.context();
    throw api_error_of(error, is_of_query ? fields.query : fields.documents);
  }
  // A classifier of several labels gives several numbers; the first is the score.
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

}  // namespace

Start handle_embeddings(const HttpRequest& request, ServerState& state) {
  const Json body = parse_json(request.body);
  const Fields fields(body);
  const ServedModel& model = state.model(fields.text("model"), request);
  const Inputs inputs = read_inputs(fields, model.tokenizer());
  (void)fields.text("user");
  const std::string* format = fields.text("encoding_format");
  if (format != nullptr && *format != "float" && *format != "base64") {
    fields.refuse("encoding_format", R"(must be "float" or "base64")");
  }
  tenon::EmbedderOptions options;
  options.dimensions = fields.integer("dimensions", 1, 1 << 20);
  tenon::Rows rows;
  try {
    rows = embed(*make_embedder(request, model, options), inputs);
  } catch (const tenon::Error& error) {
    const bool of_dimensions =
        options.dimensions && error.code() == tenon::Code::Argument && *options.dimensions > 0 &&
        inputs.size() > 0 &&
        std::string_view(error.what()).find("dimension") != std::string_view::npos;
    throw api_error_of(error, of_dimensions ? "dimensions" : "input");
  }
  Json data = Json::array();
  for (size_t i = 0; i < rows.size(); ++i) {
    data.push_back({{"object", "embedding"},
                    {"index", i},
                    {"embedding", row_json(rows[i], format != nullptr && *format == "base64")}});
  }
  const size_t tokens = count_tokens(inputs, model.tokenizer());
  return answer_with(
      {.body = to_text({{"object", "list"},
                        {"data", std::move(data)},
                        {"model", model.name()},
                        {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}})});
}

Start handle_rerank(const HttpRequest& request, ServerState& state) {
  const Json body = parse_json(request.body);
  const Fields fields(body);
  const ServedModel& model = state.model(fields.text("model"), request);
  const std::string& query = fields.required_text("query");
  const std::vector<std::string_view> documents = read_documents(fields);
  const auto top = static_cast<size_t>(fields.integer("top_n", 1, INT32_MAX).value_or(INT32_MAX));
  const bool returns_documents = fields.boolean("return_documents").value_or(false);
  const std::vector<float> scores = rank(request, model, query, documents, {"query", "documents"});
  std::vector<size_t> order(documents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t left, size_t right) { return scores[left] > scores[right]; });
  order.resize(std::min(order.size(), top));
  Json results = Json::array();
  for (const size_t index : order) {
    Json result{{"index", index}, {"relevance_score", scores[index]}};
    if (returns_documents) result["document"] = {{"text", documents[index]}};
    results.push_back(std::move(result));
  }
  const size_t tokens = count_pair_tokens(model.tokenizer(), query, documents);
  return answer_with(
      {.body = to_text({{"id", random_id("rerank-")},
                        {"model", model.name()},
                        {"results", std::move(results)},
                        {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}})});
}

Start handle_score(const HttpRequest& request, ServerState& state) {
  const Json body = parse_json(request.body);
  const Fields fields(body);
  const ServedModel& model = state.model(fields.text("model"), request);
  const std::vector<std::string_view> left = read_texts(fields, "text_1");
  const std::vector<std::string_view> right = read_texts(fields, "text_2");
  if (left.size() != 1 && left.size() != right.size()) {
    fields.refuse("text_2", "must be as many texts as text_1 has, if that is not one");
  }
  Json data = Json::array();
  size_t tokens = 0;
  const auto add = [&](std::string_view query, std::span<const std::string_view> documents) {
    for (const float score : rank(request, model, query, documents, {"text_1", "text_2"})) {
      data.push_back({{"index", data.size()}, {"object", "score"}, {"score", score}});
    }
    tokens += count_pair_tokens(model.tokenizer(), query, documents);
  };
  if (left.size() == 1) {
    add(left[0], right);
  } else {
    for (size_t i = 0; i < left.size(); ++i) add(left[i], std::span(right).subspan(i, 1));
  }
  return answer_with(
      {.body = to_text({{"id", random_id("score-")},
                        {"object", "list"},
                        {"model", model.name()},
                        {"data", std::move(data)},
                        {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}})});
}

}  // namespace tenon_http
