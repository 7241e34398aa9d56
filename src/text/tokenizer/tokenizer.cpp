#include "text/tokenizer/tokenizer.h"

#include <algorithm>

#include "base/error.h"
#include "base/huge_pages.h"
#include "base/utf8.h"
#include "text/bpe/bpe_tokenizer.h"
#include "text/bpe/spm_tokenizer.h"
#include "text/tokenizer/rwkv_tokenizer.h"
#include "text/tokenizer/token_table.h"
#include "text/unicode/utf8_codec.h"
#include "text/unigram/plamo2_tokenizer.h"
#include "text/unigram/unigram_tokenizer.h"
#include "text/wordpiece/wordpiece_tokenizer.h"

namespace tenon {
namespace {

bool has_normalized_structure(const TokenTable& table) {
  for (Token token = 0; table.contains(token); ++token) {
    const bool normalized = (table.matching(token) & kInNormalizedText) != 0;
    if (normalized && table.is_reserved(token)) return true;
  }
  return false;
}

/// The concatenated parts of a prompt as well-formed UTF-8.
struct Prompt {
  std::string owned;  // empty if a single part is well-formed already
  std::string_view text;
  std::vector<size_t> ends;  // [parts]
};

Prompt lay_out(System& system, std::span<const TextPart> parts) {
  Prompt prompt;
  if (parts.size() == 1 && utf8_valid_prefix(parts[0].text) == parts[0].text.size()) {
    prompt.text = parts[0].text;
    prompt.ends.push_back(prompt.text.size());
    return prompt;
  }
  size_t size_bytes = 0;
  for (const TextPart& part : parts) {
    // An ill-formed byte becomes three bytes at most.
    const std::string_view rest = part.text.substr(utf8_valid_prefix(part.text));
    const auto odd =
        std::count_if(rest.begin(), rest.end(), [](char c) { return (c & 0x80) != 0; });
    size_bytes += part.text.size() + 2 * static_cast<size_t>(odd);
  }
  prompt.owned = string_with_room(system, size_bytes);
  for (const TextPart& part : parts) {
    utf8_append_repaired(part.text, prompt.owned);
    prompt.ends.push_back(prompt.owned.size());
  }
  return prompt;
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<const TokenTable> table, std::shared_ptr<System> system)
    : table_(std::move(table)),
      system_(std::move(system)),
      always_(matcher_of(*table_, false)),
      with_structure_(matcher_of(*table_, true)),
      cuts_at_rights_(has_normalized_structure(*table_)) {}

Tokenizer::~Tokenizer() = default;

bool Tokenizer::is_matched(const TokenTable& table, Token token, bool parse_special) {
  const std::string_view text = table.spelling(token);
  if (table.is_twin(token)) return false;
  // An ill-formed spelling could only match inside a character of the well-formed text.
  if (text.empty() || utf8_valid_prefix(text) != text.size()) return false;
  if (table.is_reserved(token)) return parse_special;
  return table.type(token) == TokenType::UserDefined;
}

SpecialMatcher Tokenizer::matcher_of(const TokenTable& table, bool parse_special) {
  std::vector<SpecialMatcher::Entry> entries;
  for (Token token = 0; table.contains(token); ++token) {
    if ((table.matching(token) & kInNormalizedText) != 0) continue;
    if (is_matched(table, token, parse_special)) entries.push_back({table.spelling(token), token});
  }
  return SpecialMatcher(entries);
}

std::vector<Token> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  const TextPart part{text, options.parse_special};
  return encode(std::span(&part, 1), options.add_special);
}

std::vector<Token> Tokenizer::encode(std::span<const TextPart> parts, bool add_special) const {
  size_t size_bytes = 0;
  for (const TextPart& part : parts) {
    if (part.text.size() > kMaxTextBytes - size_bytes) {
      fail(Code::Limit, "text: more than {} bytes", kMaxTextBytes);
    }
    size_bytes += part.text.size();
  }
  Prompt prompt = lay_out(*system_, parts);
  const std::string_view text = prompt.owned.empty() ? prompt.text : prompt.owned;

  std::vector<Token> out;
  if (add_special) out = table_->tokens_before;
  bool at_start = true;
  bool may_spell = true;  // all parts of the pending text may spell control tokens
  TokenBoundaries tokens(*table_, surroundings_, text);
  const auto on_text = [&](size_t begin, size_t end) {
    encode_text(text.substr(begin, end - begin), {at_start, begin == 0, may_spell}, out);
    at_start = false;
  };
  size_t part_begin = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool may = parts[i].parse_special;
    if (cuts_at_rights_ && i > 0 && may != parts[i - 1].parse_special) {
      tokens.finish(part_begin, on_text);
      may_spell = may;
    }
    may_spell = may_spell && may;
    tokens.cut(may ? with_structure_ : always_, part_begin, prompt.ends[i], on_text,
               [&](Token token) {
                 out.push_back(token);
                 at_start = true;
                 may_spell = may;
               });
    part_begin = prompt.ends[i];
  }
  tokens.finish(text.size(), on_text);
  if (add_special) {
    out.insert(out.end(), table_->tokens_after.begin(), table_->tokens_after.end());
  }
  return out;
}

void Tokenizer::check(Token token) const {
  if (!table_->contains(token)) {
    fail(Code::Argument, "token {} is outside the vocabulary of {}", token, table_->size());
  }
}

std::string_view Tokenizer::decode(Token token, bool render_special) const {
  check(token);
  return shows(token, render_special) ? table_->piece(token) : std::string_view();
}

bool Tokenizer::shows(Token token, bool render_special) const {
  const TokenType type = table_->type(token);
  return render_special || type == TokenType::Normal || type == TokenType::UserDefined ||
         type == TokenType::Byte;
}

std::string_view Tokenizer::decode_next(Token token, DecodeOptions options, bool& at_start) const {
  std::string_view piece = decode(token, options.render_special);
  if (table_->has_first_pieces()) {
    const bool is_first = at_start && shows(token, options.render_special);
    if (is_first && options.strip_space_prefix) piece = table_->first_piece(token);
    at_start = at_start && !is_first;
    return piece;
  }
  const TokenType type = table_->type(token);
  const bool is_special = table_->is_structure(token) || type == TokenType::UserDefined;
  if (options.strip_space_prefix && table_->add_space_prefix && at_start && !is_special &&
      piece.starts_with(' ')) {
    piece.remove_prefix(1);
  }
  at_start = is_special;
  return piece;
}

std::string Tokenizer::decode(std::span<const Token> tokens, DecodeOptions options) const {
  std::string text;
  bool at_start = true;
  for (const Token token : tokens) text += decode_next(token, options, at_start);
  return text;
}

std::string_view Tokenizer::spelling(Token token) const {
  check(token);
  return table_->spelling(token);
}

std::optional<Token> Tokenizer::find(std::string_view spelling) const {
  return table_->find(spelling);
}

size_t Tokenizer::size() const { return table_->size(); }
std::span<const std::string> Tokenizer::warnings() const { return table_->warnings(); }

TokenType Tokenizer::type(Token token) const {
  check(token);
  return table_->type(token);
}

bool Tokenizer::is_end(Token token) const {
  return std::binary_search(table_->end_tokens().begin(), table_->end_tokens().end(), token);
}

bool Tokenizer::is_control(Token token) const {
  return table_->contains(token) && table_->type(token) == TokenType::Control;
}

std::span<const Token> Tokenizer::end_tokens() const { return table_->end_tokens(); }
std::optional<Token> Tokenizer::bos() const { return table_->bos; }
std::optional<Token> Tokenizer::eos() const { return table_->eos; }
std::optional<Token> Tokenizer::eot() const { return table_->eot; }
std::optional<Token> Tokenizer::unknown() const { return table_->unknown; }
std::optional<Token> Tokenizer::padding() const { return table_->padding; }
bool Tokenizer::adds_bos() const { return !table_->tokens_before.empty(); }
bool Tokenizer::adds_eos() const { return !table_->tokens_after.empty(); }
bool Tokenizer::adds_space_prefix() const { return table_->add_space_prefix; }

std::unique_ptr<const Tokenizer> make_tokenizer(Vocabulary vocabulary,
                                                std::shared_ptr<System> system) {
  struct Maker {
    std::string_view model;
    std::unique_ptr<const Tokenizer> (*make)(Vocabulary, std::shared_ptr<System>);
  };
  constexpr Maker kMakers[] = {
      {"gpt2", make_bpe_tokenizer},       {"llama", make_spm_tokenizer},
      {"bert", make_wordpiece_tokenizer}, {"t5", make_unigram_tokenizer},
      {"rwkv", make_rwkv_tokenizer},      {"hybriddna", make_bpe_tokenizer},
      {"gemma4", make_bpe_tokenizer},     {"whitespace", make_bpe_tokenizer},
      {"plamo2", make_plamo2_tokenizer},
  };
  if (vocabulary.model == "gemma4") vocabulary.pre = "gemma4";
  std::string known;
  for (const Maker& maker : kMakers) {
    if (maker.model == vocabulary.model) {
      return maker.make(std::move(vocabulary), std::move(system));
    }
    known += known.empty() ? "" : ", ";
    known += maker.model;
  }
  fail(Code::Unsupported, "tokenizer.ggml.model: unknown tokenizer {} (known: {})",
       quoted(vocabulary.model), known);
}

}  // namespace tenon
