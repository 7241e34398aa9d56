#include "text/tokenizer_json/word_model.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/utf8.h"
#include "text/tokenizer/token_table.h"

namespace tenon::tokenizer_json {
namespace {

struct ModelType {
  std::string_view name;
  std::unique_ptr<const WordModel> (*make)(const JsonField&, const ModelParts&);
};
constexpr ModelType kModelTypes[] = {
    {"BPE", make_bpe_model},
    {"Unigram", make_unigram_model},
    {"WordPiece", make_wordpiece_model},
    {"WordLevel", make_word_level_model},
};

// Four times the largest published vocabulary: bounds the memory that an id can request.
constexpr uint64_t kMaxTokenId = (1u << 20) - 1;

void put(ModelVocabulary& out, uint64_t id, std::string_view spelling, const JsonField& where) {
  if (id > kMaxTokenId) {
    fail(Code::Limit, "{}: {} has the id {}, the limit is {}", where.where(),
         tenon::quoted(spelling), id, kMaxTokenId);
  }
  where.check_size(spelling.size(), TokenTable::kMaxTokenBytes);
  if (out.tokens.size() <= id) out.tokens.resize(id + 1);
  std::string& place = out.tokens[id];
  if (!place.empty()) {
    fail(Code::Format, "{}: {} and {} both have the id {}", where.where(), tenon::quoted(place),
         tenon::quoted(spelling), id);
  }
  place = spelling;
  ++out.count;
}

}  // namespace

TokenFinder::TokenFinder(const std::vector<std::string>& tokens)
    : tokens_(&tokens), index_(tokens.size()) {
  for (uint32_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].empty()) index_.insert(tokens, i);
  }
}

Token TokenFinder::find(std::string_view spelling) const {
  if (spelling.empty()) return kNone;
  const auto place = index_.find(*tokens_, spelling);
  return place ? static_cast<Token>(*place) : kNone;
}

std::string_view model_type(const JsonField& model) {
  const JsonField type = model.at("type");
  if (!type.is_null()) return type.text();
  if (model.has("merges")) return "BPE";
  if (model.has("max_input_chars_per_word")) return "WordPiece";
  if (model.has("unk_token")) return "WordLevel";
  return "Unigram";
}

ModelVocabulary read_model_vocabulary(const JsonField& model) {
  ModelVocabulary out;
  const JsonField vocab = model.at("vocab");
  if (model_type(model) == "Unigram") {
    for (const Json& entry : vocab.array()) {
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string()) {
        fail(Code::Format, "{}[{}]: expected a piece and its score", vocab.where(),
             out.tokens.size());
      }
      put(out, out.tokens.size(), entry[0].get_ref<const std::string&>(), vocab);
    }
  } else {
    for (const auto& entry : vocab.object()) {
      if (!entry.second.is_number_unsigned()) {
        fail(Code::Format, "{}: {} has no number for an id", vocab.where(),
             tenon::quoted(entry.first));
      }
      put(out, entry.second.get<uint64_t>(), entry.first, vocab);
    }
  }
  out.has_byte_tokens = model.at("byte_fallback").flag_or(false);
  return out;
}

std::unique_ptr<const WordModel> make_word_model(const JsonField& model, const ModelParts& parts) {
  const std::string_view type = model_type(model);
  const auto* const known =
      std::find_if(std::begin(kModelTypes), std::end(kModelTypes),
                   [&](const ModelType& of_list) { return of_list.name == type; });
  if (known == std::end(kModelTypes)) model.at("type").unsupported("model");
  return known->make(model, parts);
}

}  // namespace tenon::tokenizer_json
