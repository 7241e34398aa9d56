#include "text/tokenizer_json/json_vocabulary.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/utf8.h"
#include "text/bpe/byte_alphabet.h"
#include "text/tokenizer_json/token_pieces.h"

namespace tenon::tokenizer_json {
namespace {

// Usual spellings of tokens with a role, which a tokenizer.json does not name.
constexpr std::array<std::string_view, 5> kBeginSpellings{
    "<s>", "<bos>", "<|begin_of_text|>", "<\uFF5Cbegin\u2581of\u2581sentence\uFF5C>", "[CLS]"};
constexpr std::array<std::string_view, 6> kEndSpellings{
    "</s>", "<eos>", "<|endoftext|>", "<|end_of_text|>", "<\uFF5Cend\u2581of\u2581sentence\uFF5C>",
    "[SEP]"};
constexpr std::array<std::string_view, 4> kPaddingSpellings{"<pad>", "[PAD]", "<|pad|>", "<PAD>"};

std::optional<int64_t> find_special(const std::vector<AddedToken>& added,
                                    std::span<const std::string_view> spellings) {
  for (const std::string_view spelling : spellings) {
    for (const AddedToken& token : added) {
      if (token.is_special && token.content == spelling) return token.id;
    }
  }
  return std::nullopt;
}

std::optional<int64_t> unknown_of_model(const JsonField& model, const TokenFinder& finder) {
  const JsonField id = model.at("unk_id");
  if (!id.is_null()) return static_cast<int64_t>(id.number() & INT64_MAX);
  const JsonField spelling = model.at("unk_token");
  if (spelling.is_null()) return std::nullopt;
  const Token token = finder.find(spelling.text());
  return token == TokenFinder::kNone ? std::nullopt : std::optional<int64_t>(token);
}

/// Adds the added tokens to the vocabulary.
void place_added(const std::vector<AddedToken>& added, const JsonField& where, Vocabulary& out) {
  for (const AddedToken& token : added) {
    const auto id = static_cast<size_t>(token.id);
    if (out.tokens.size() <= id) out.tokens.resize(id + 1);
    if (!out.tokens[id].empty() && out.tokens[id] != token.content) {
      fail(Code::Format, "{}: {} and {} both have the id {}", where.where(),
           tenon::quoted(out.tokens[id]), tenon::quoted(token.content), id);
    }
    out.tokens[id] = token.content;
  }
  out.types.assign(out.tokens.size(), TokenType::Normal);
  out.matching.assign(out.tokens.size(), 0);
  for (const AddedToken& token : added) {
    const auto id = static_cast<size_t>(token.id);
    out.types[id] = token.is_special ? TokenType::Control : TokenType::UserDefined;
    out.matching[id] = token.matching;
  }
}

void set_types_of_model(bool has_byte_tokens, Vocabulary& out) {
  for (size_t id = 0; has_byte_tokens && id < out.tokens.size(); ++id) {
    const bool is_byte = parse_byte_token(out.tokens[id]).has_value();
    if (out.types[id] == TokenType::Normal && is_byte) out.types[id] = TokenType::Byte;
  }
  if (!out.unknown || static_cast<size_t>(*out.unknown) >= out.types.size()) return;
  TokenType& unknown = out.types[static_cast<size_t>(*out.unknown)];
  if (unknown == TokenType::Control) unknown = TokenType::Unknown;
}

/// Tokens with a role, by their spellings.
void set_roles(const TokenRoles& roles, Vocabulary& out) {
  const auto set = [&out](std::string_view spelling, std::optional<int64_t>& role,
                          const char* what) {
    if (spelling.empty()) return;
    const auto found = std::ranges::find(out.tokens, spelling);
    if (found == out.tokens.end()) {
      fail(Code::Format, "the {} {} of tokenizer_config.json is no token", what,
           tenon::quoted(spelling));
    }
    role = found - out.tokens.begin();
  };
  set(roles.bos, out.bos, "bos_token");
  set(roles.eos, out.eos, "eos_token");
  set(roles.padding, out.padding, "pad_token");
  set(roles.unknown, out.unknown, "unk_token");
  out.extra_end_tokens = roles.end_tokens;
}

}  // namespace

JsonVocabulary read_json_vocabulary(const JsonField& root, const TokenRoles& roles) {
  JsonVocabulary read;
  const JsonField model = root.at("model");
  read.of_model = std::make_unique<const ModelVocabulary>(read_model_vocabulary(model));
  read.finder = std::make_unique<const TokenFinder>(read.of_model->tokens);
  Vocabulary& out = read.vocabulary;
  out.model = "tokenizer.json";
  out.tokens = read.of_model->tokens;
  read.added = read_added_tokens(root.at("added_tokens"), *read.of_model);
  place_added(read.added, root.at("added_tokens"), out);
  const TokensAround around = read_tokens_around(root.at("post_processor"));
  out.tokens_before = around.before;
  out.tokens_after = around.after;
  out.bos =
      around.before.empty() ? find_special(read.added, kBeginSpellings) : around.before.front();
  out.eos = around.after.empty() ? find_special(read.added, kEndSpellings) : around.after.front();
  out.padding = find_special(read.added, kPaddingSpellings);
  out.unknown = unknown_of_model(model, *read.finder);
  set_roles(roles, out);
  set_types_of_model(read.of_model->has_byte_tokens, out);
  return read;
}

}  // namespace tenon::tokenizer_json
