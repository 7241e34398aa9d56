#include "text/tokenizer_json/added_tokens.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon::tokenizer_json {
namespace {

constexpr uint64_t kMaxAddedTokens = 1u << 20;

uint8_t matching_of(const JsonField& field) {
  const bool special = field.at("special").flag_or(false);
  uint8_t bits = 0;
  if (field.at("lstrip").flag_or(false)) bits |= kStripsLeft;
  if (field.at("rstrip").flag_or(false)) bits |= kStripsRight;
  if (field.at("single_word").flag_or(false)) bits |= kSingleWord;
  if (field.at("normalized").flag_or(!special)) bits |= kInNormalizedText;
  return bits;
}

/// Id of a token in BertProcessing and RobertaProcessing: ["[CLS]", 101].
int64_t id_of_pair(const JsonField& field) {
  const std::vector<JsonField> pair = field.items();
  if (pair.size() != 2) field.expected("a token and its id");
  return static_cast<int64_t>(pair[1].number() & INT64_MAX);
}

void add_bert(const JsonField& field, TokensAround& out) {
  out.before.insert(out.before.begin(), id_of_pair(field.at("cls")));
  out.after.push_back(id_of_pair(field.at("sep")));
}

void add_template(const JsonField& field, TokensAround& out) {
  const JsonField special_tokens = field.at("special_tokens");
  TokensAround around;
  bool text_seen = false;
  for (const JsonField& piece : field.at("single").items()) {
    if (piece.has("Sequence")) {
      if (text_seen || piece.at("Sequence").at("id").text() != "A") {
        piece.unsupported("a template with another text than the one, as here:");
      }
      text_seen = true;
      continue;
    }
    const JsonField token = special_tokens.at(piece.at("SpecialToken").at("id").text());
    for (const JsonField& id : token.at("ids").items()) {
      (text_seen ? around.after : around.before)
          .push_back(static_cast<int64_t>(id.number() & INT64_MAX));
    }
  }
  if (!text_seen) field.at("single").unsupported("a template without the text:");
  out.before.insert(out.before.begin(), around.before.begin(), around.before.end());
  out.after.insert(out.after.end(), around.after.begin(), around.after.end());
}

/// Adds nothing: the type only changes offsets.
void add_byte_level(const JsonField& /*field*/, TokensAround& /*out*/) {}

struct ProcessorType {
  std::string_view name;
  void (*add)(const JsonField&, TokensAround&);
};
constexpr ProcessorType kProcessorTypes[] = {
    {"BertProcessing", add_bert},
    {"RobertaProcessing", add_bert},
    {"TemplateProcessing", add_template},
    {"ByteLevel", add_byte_level},
};

void add_processor(const JsonField& field, TokensAround& out) {
  const JsonField type = field.at("type");
  if (type.text() == "Sequence") {
    for (const JsonField& part : field.at("processors").items()) add_processor(part, out);
    return;
  }
  const auto* const known =
      std::find_if(std::begin(kProcessorTypes), std::end(kProcessorTypes),
                   [&](const ProcessorType& of_list) { return of_list.name == type.text(); });
  if (known == std::end(kProcessorTypes)) type.unsupported("post-processor");
  known->add(field, out);
}

}  // namespace

std::vector<AddedToken> read_added_tokens(const JsonField& field,
                                          const ModelVocabulary& vocabulary) {
  std::vector<AddedToken> out;
  if (field.is_null()) return out;
  if (field.array().size() > kMaxAddedTokens) {
    fail(Code::Limit, "{}: {} tokens, the limit is {}", field.where(), field.array().size(),
         kMaxAddedTokens);
  }
  std::vector<std::string> contents;
  for (const JsonField& entry : field.items()) {
    const JsonField content = entry.at("content");
    content.check_size(content.text().size(), TokenTable::kMaxTokenBytes);
    contents.push_back(content.text());
  }
  StringIndex added(contents.size());
  const TokenFinder of_model(vocabulary.tokens);
  // [contents] index in `out` of the first token with this content
  std::vector<size_t> places(contents.size());
  auto next_id = static_cast<Token>(vocabulary.count);
  for (uint32_t i = 0; i < contents.size(); ++i) {
    if (contents[i].empty()) continue;
    const JsonField entry = field.item(i);
    AddedToken token{.id = of_model.find(contents[i]),
                     .content = contents[i],
                     .matching = matching_of(entry),
                     .is_special = entry.at("special").flag_or(false)};
    token.is_of_model = token.id != TokenFinder::kNone;
    if (const auto first = added.insert(contents, i)) {  // repeated: the last entry wins
      token.id = out[places[*first]].id;
      token.is_special = token.is_special || out[places[*first]].is_special;
      out[places[*first]] = std::move(token);
      continue;
    }
    if (token.id == TokenFinder::kNone) token.id = next_id++;
    places[i] = out.size();
    out.push_back(std::move(token));
  }
  return out;
}

TokensAround read_tokens_around(const JsonField& field) {
  TokensAround out;
  if (!field.is_null()) add_processor(field, out);
  return out;
}

}  // namespace tenon::tokenizer_json
