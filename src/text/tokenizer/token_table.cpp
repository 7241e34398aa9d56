#include "text/tokenizer/token_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "text/bpe/byte_alphabet.h"
#include "text/tokenizer/dna_kmers.h"
#include "text/unicode/hex_digit.h"

namespace tenon {
namespace {

// Spellings of tokens that end a turn, a message or a text in published models: many files name
// only one by key. These tokens are structure, whatever type the file gives.
constexpr std::string_view kEndSpellings[] = {
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|im_end|>",
    "<|end|>",
    "<|endoftext|>",
    "<end_of_turn>",
    "<EOT>",
    "<|EOT|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<|return|>",
    "<|end_of_turn|>",
    "<\uFF5Cend\u2581of\u2581sentence\uFF5C>",
    "<|call|>",
    "<|calls|>",
    "<|flush|>",
    "<turn|>",
    "<|tool_response>",
    "<end_of_utterance>",
    "<eos>",
    "[EOS]",
    "[EOT]",
    "_<EOT>",
    "[e~[",
};

// Two families end each message of an answer with <|end|>, and the answer with another token:
// gpt-oss with <|return|> and <|call|>, Solar Open with <|flush|> and <|calls|>.
constexpr std::string_view kMessageEnd = "<|end|>";
constexpr std::string_view kAnswerEnds[][2] = {{"<|return|>", "<|call|>"},
                                               {"<|flush|>", "<|calls|>"}};

// Candidates for eot if the file names none, in order of preference.
constexpr std::string_view kTurnEndSpellings[] = {
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|EOT|>", "<EOT>", "[EOT]", "<turn|>",
};

// HTML elements in vocabularies' user-defined tokens. They are text.
constexpr std::string_view kHtmlElements[] = {
    "a",  "b",  "blockquote", "body", "br", "caption", "code",   "div",  "em",  "h1",
    "h2", "h3", "h4",         "h5",   "h6", "head",    "hr",     "html", "i",   "img",
    "li", "ol", "p",          "pre",  "s",  "span",    "strong", "sub",  "sup", "table",
    "td", "th", "tr",         "u",    "ul", "tbody",   "tfoot",  "thead"};

/// Checks a token id from the list `list`; returns it.
Token checked_id(const TokenTable& table, int64_t id, std::string_view list) {
  if (table.contains(id)) return static_cast<Token>(id);
  fail(Code::Format, "{}: token {} is outside the vocabulary of {}", list, id, table.size());
}

/// True for ids that mean "no such token" in files.
bool means_none(int64_t id) { return id == -1 || id == UINT32_MAX; }

/// Most pairs of twins named in a warning.
constexpr size_t kNamedTwins = 3;

std::string replaced(std::string_view text, std::string_view what, char by) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const bool found = text.substr(at).starts_with(what);
    out.push_back(found ? by : text[at]);
    at += found ? what.size() : 1;
  }
  return out;
}

/// True if spellings have U+2581 for a space.
bool marks_spaces(TokenizerKind kind) {
  return kind != TokenizerKind::ByteLevel && kind != TokenizerKind::Escaped &&
         kind != TokenizerKind::Plain && kind != TokenizerKind::Listed;
}

bool has_byte_tokens(TokenizerKind kind) {
  return kind == TokenizerKind::Plain || (marks_spaces(kind) && kind != TokenizerKind::WordPiece);
}

bool needs_scores(TokenizerKind kind) {
  return kind == TokenizerKind::SentencePiece || kind == TokenizerKind::Unigram ||
         kind == TokenizerKind::Plain;
}

struct TypedSpelling {
  std::string_view spelling;
  TokenType type;
};

// Spellings of structure in files without types.
constexpr TypedSpelling kSentencePieceTypes[] = {
    {"<unk>", TokenType::Unknown}, {"<s>", TokenType::Control}, {"</s>", TokenType::Control}};
constexpr TypedSpelling kWordPieceTypes[] = {{"[UNK]", TokenType::Unknown},
                                             {"[CLS]", TokenType::Control},
                                             {"[SEP]", TokenType::Control},
                                             {"[PAD]", TokenType::Control},
                                             {"[MASK]", TokenType::Control}};

/// Replaces escapes in a spelling: \\t, \\n, \\r, \\xNN, and backslash before any other character.
std::string unescaped(std::string_view spelling) {
  std::string bytes;
  for (size_t i = 0; i < spelling.size(); ++i) {
    if (spelling[i] != '\\' || i + 1 == spelling.size()) {
      bytes.push_back(spelling[i]);
      continue;
    }
    const char c = spelling[++i];
    const bool is_hex = c == 'x' && i + 2 < spelling.size() && hex_digit(spelling[i + 1]) >= 0 &&
                        hex_digit(spelling[i + 2]) >= 0;
    if (is_hex) {
      bytes.push_back(
          static_cast<char>(hex_digit(spelling[i + 1]) * 16 + hex_digit(spelling[i + 2])));
      i += 2;
    } else {
      bytes.push_back(c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c);
    }
  }
  return bytes;
}

}  // namespace

bool is_mark(std::string_view spelling) {
  const bool angles = spelling.starts_with('<') && spelling.ends_with('>');
  const bool brackets = spelling.starts_with('[') && spelling.ends_with(']');
  if (spelling.size() < 3 || !(angles || brackets)) return false;
  std::string_view name = spelling.substr(1, spelling.size() - 2);
  if (name.starts_with('/')) name.remove_prefix(1);
  return !angles || std::find(std::begin(kHtmlElements), std::end(kHtmlElements), name) ==
                        std::end(kHtmlElements);
}

TokenTable::TokenTable(Vocabulary vocabulary, const TokenizerDefaults& defaults)
    : spellings_(std::exchange(vocabulary.tokens, {})),
      scores_(std::move(vocabulary.scores)),
      types_(std::move(vocabulary.types)),
      first_pieces_(std::exchange(vocabulary.first_pieces, {})),
      matching_(std::move(vocabulary.matching)),
      index_(std::min(spellings_.size(), kMaxTokens)) {
  check_tokens();
  check_types(defaults.kind);
  check_scores(defaults.kind);
  index_spellings();
  set_special(vocabulary, defaults);
  set_end_tokens(vocabulary, defaults.kind);
  set_tokens_around(vocabulary);
  set_strips_right(vocabulary.model_name);
  set_pieces(defaults.kind, vocabulary);
}

// Text becomes the last of several tokens with equal spellings, as in llama.cpp, whose map is
// filled in this order. Published files have such tokens.
void TokenTable::index_spellings() {
  std::string named;
  size_t twins = 0;
  for (size_t i = spellings_.size(); i-- > 0;) {
    // Published files have empty spellings; no text becomes these tokens.
    if (spellings_[i].empty()) continue;
    const auto last = index_.insert(spellings_, static_cast<uint32_t>(i));
    if (!last) continue;
    if (twins_.empty()) twins_.resize(spellings_.size());
    twins_[i] = true;
    if (++twins > kNamedTwins) continue;
    named += fmt::format("{}{} and {} are both {}", named.empty() ? "" : ", ", i, *last,
                         quoted(spellings_[i]));
  }
  if (twins == 0) return;
  if (twins > kNamedTwins) named += fmt::format(" and {} more", twins - kNamedTwins);
  warnings_.push_back(
      fmt::format("tokenizer.ggml.tokens: tokens {}; text becomes the last of such tokens", named));
}

std::optional<Token> TokenTable::find(std::string_view spelling) const {
  if (spelling.empty()) return std::nullopt;
  const auto place = index_.find(spellings_, spelling);
  if (!place) return std::nullopt;
  return static_cast<Token>(*place);
}

void TokenTable::check_tokens() const {
  if (spellings_.empty()) fail(Code::Format, "tokenizer.ggml.tokens: the vocabulary is empty");
  if (spellings_.size() > kMaxTokens) {
    fail(Code::Limit, "tokenizer.ggml.tokens: {} tokens, the limit is {}", spellings_.size(),
         kMaxTokens);
  }
  for (size_t i = 0; i < spellings_.size(); ++i) {
    if (spellings_[i].size() > kMaxTokenBytes) {
      fail(Code::Limit, "tokenizer.ggml.tokens: token {} has {} bytes, the limit is {}", i,
           spellings_[i].size(), kMaxTokenBytes);
    }
  }
}

void TokenTable::check_types(TokenizerKind kind) {
  const bool absent = types_.empty();
  if (absent) assume_types(kind);
  if (types_.size() != size()) {
    fail(Code::Format, "tokenizer.ggml.token_type: {} entries for {} tokens", types_.size(),
         size());
  }
  for (size_t i = 0; i < size(); ++i) {
    const auto value = static_cast<int32_t>(types_[i]);
    if (value < 1 || value > 6) {
      fail(Code::Format, "tokenizer.ggml.token_type: token {} has type {}, known are 1 to 6", i,
           value);
    }
    const bool is_byte_spelling = parse_byte_token(spellings_[i]).has_value();
    if (types_[i] == TokenType::Byte && !is_byte_spelling) {
      fail(Code::Format, "tokenizer.ggml.tokens: byte token {} is spelled {}, not <0xNN>", i,
           quoted(spellings_[i]));
    }
    // Some converters give byte tokens the type Normal.
    if (has_byte_tokens(kind) && types_[i] == TokenType::Normal && is_byte_spelling) {
      types_[i] = TokenType::Byte;
    }
  }
}

void TokenTable::assume_types(TokenizerKind kind) {
  types_.assign(size(), TokenType::Normal);
  std::span<const TypedSpelling> known;
  if (has_byte_tokens(kind)) known = kSentencePieceTypes;
  if (kind == TokenizerKind::WordPiece) known = kWordPieceTypes;
  for (size_t i = 0; i < size(); ++i) {
    for (const TypedSpelling& entry : known) {
      if (spellings_[i] == entry.spelling) types_[i] = entry.type;
    }
  }
}

void TokenTable::check_scores(TokenizerKind kind) const {
  if (scores_.empty() && !needs_scores(kind)) return;
  if (scores_.size() != size()) {
    fail(Code::Format, "tokenizer.ggml.scores: {} entries for {} tokens", scores_.size(), size());
  }
  for (size_t i = 0; i < size(); ++i) {
    if (std::isnan(scores_[i])) {
      fail(Code::Format, "tokenizer.ggml.scores: the score of token {} is not a number", i);
    }
    // Scores are summed, and infinite sums could not be compared.
    if (kind == TokenizerKind::Unigram && std::isinf(scores_[i])) {
      fail(Code::Format, "tokenizer.ggml.scores: the score of token {} is infinite", i);
    }
  }
}

void TokenTable::set_special(const Vocabulary& vocabulary, const TokenizerDefaults& defaults) {
  const auto id_of = [this](std::string_view key, std::optional<int64_t> given,
                            std::optional<int64_t> otherwise = {}) -> std::optional<Token> {
    if (given && contains(*given)) return static_cast<Token>(*given);
    if (given && !means_none(*given)) {
      warnings_.push_back(
          fmt::format("tokenizer.ggml.{}: token {} is outside the vocabulary of {}; it is left out",
                      key, *given, size()));
    }
    const bool usable =
        otherwise && contains(*otherwise) && is_structure(static_cast<Token>(*otherwise));
    if (!usable) return std::nullopt;
    return static_cast<Token>(*otherwise);
  };
  bos = id_of("bos_token_id", vocabulary.bos, defaults.bos);
  eos = id_of("eos_token_id", vocabulary.eos, defaults.eos);
  eot = id_of("eot_token_id", vocabulary.eot);
  eom = id_of("eom_token_id", vocabulary.eom);
  unknown = id_of("unknown_token_id", vocabulary.unknown, defaults.unknown);
  padding = id_of("padding_token_id", vocabulary.padding);
  (void)id_of("seperator_token_id", vocabulary.separator);

  add_bos = vocabulary.add_bos.value_or(defaults.add_bos && bos);
  add_eos = vocabulary.add_eos.value_or(defaults.add_eos && eos);
  add_space_prefix = vocabulary.add_space_prefix.value_or(defaults.add_space_prefix);
  const auto drop = [this](const char* name, bool& adds) {
    adds = false;
    warnings_.push_back(fmt::format(
        "tokenizer.ggml.add_{0}_token: true, but there is no {0}_token_id; none is added", name));
  };
  if (add_bos && !bos) drop("bos", add_bos);
  if (add_eos && !eos) drop("eos", add_eos);
}

void TokenTable::set_end_tokens(const Vocabulary& vocabulary, TokenizerKind kind) {
  // A tokenizer.json types each token reliably, so its text tokens stay text.
  const auto may_end = [&](Token token) {
    return kind != TokenizerKind::Listed || type(token) != TokenType::Normal;
  };
  const bool ends_messages =
      std::any_of(std::begin(kAnswerEnds), std::end(kAnswerEnds),
                  [this](const auto& pair) { return find(pair[0]) && find(pair[1]); });
  for (const std::string_view spelling : kEndSpellings) {
    const auto token = find(spelling);
    if (!token || !may_end(*token)) continue;
    types_[index(*token)] = TokenType::Control;
    if (!ends_messages || spelling != kMessageEnd) end_tokens_.push_back(*token);
  }
  for (const std::string_view spelling : kTurnEndSpellings) {
    const auto token = find(spelling);
    if (ends_messages && spelling == kMessageEnd) continue;
    if (!eot && token && may_end(*token)) eot = token;
  }
  for (const auto& token : {eos, eot, eom}) {
    if (token) end_tokens_.push_back(*token);
  }
  for (const int64_t id : vocabulary.extra_end_tokens) {
    end_tokens_.push_back(checked_id(*this, id, "extra end tokens"));
  }
  std::sort(end_tokens_.begin(), end_tokens_.end());
  end_tokens_.erase(std::unique(end_tokens_.begin(), end_tokens_.end()), end_tokens_.end());
}

void TokenTable::set_tokens_around(const Vocabulary& vocabulary) {
  if (add_bos) tokens_before.push_back(*bos);
  if (add_eos) tokens_after.push_back(*eos);
  for (const int64_t id : vocabulary.tokens_before) {
    tokens_before.push_back(checked_id(*this, id, "tokens before a text"));
  }
  for (const int64_t id : vocabulary.tokens_after) {
    tokens_after.push_back(checked_id(*this, id, "tokens after a text"));
  }
}

// GGUF files lack the "rstrip" of Hugging Face's added tokens. Phi-3 is the only published model of
// this kind whose prompts depend on it; recognise it by name, as llama.cpp does.
void TokenTable::set_strips_right(std::string_view model_name) {
  std::string name(model_name);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  if (name.find("phi-3") == std::string::npos && name.find("phi3") == std::string::npos) return;
  matching_.resize(size());
  for (size_t i = 0; i < size(); ++i) {
    const std::string_view text = spellings_[i];
    const bool is_special = types_[i] == TokenType::Control || types_[i] == TokenType::Unknown ||
                            types_[i] == TokenType::UserDefined;
    const bool strips = text != "<unk>" && text != "<s>" && text != "<|endoftext|>";
    if (is_special && strips) matching_[i] |= kStripsRight;
  }
}

void TokenTable::set_pieces(TokenizerKind kind, const Vocabulary& vocabulary) {
  const bool has_kmers = vocabulary.model == "hybriddna";
  pieces_.reserve(size(), spellings_.num_bytes());  // pieces are hardly ever longer
  for (size_t i = 0; i < size(); ++i) {
    const std::string_view spelling = spellings_[i];
    const bool verbatim = types_[i] == TokenType::Control || types_[i] == TokenType::Unknown ||
                          types_[i] == TokenType::UserDefined || kind == TokenizerKind::Plain;
    if (kind == TokenizerKind::Listed) {
      pieces_.push_back(vocabulary.pieces[i]);
    } else if (types_[i] == TokenType::Byte) {
      const char byte = static_cast<char>(*parse_byte_token(spelling));
      pieces_.push_back({&byte, 1});
    } else if (marks_spaces(kind) && types_[i] != TokenType::Control) {
      pieces_.push_back(replaced(spelling, kSpaceMark, ' '));
    } else if (kind == TokenizerKind::Escaped && !verbatim) {
      pieces_.push_back(unescaped(spelling));
    } else if (has_kmers && spelling.ends_with(DnaKmers::kMark)) {
      pieces_.push_back(spelling.substr(0, spelling.size() - DnaKmers::kMark.size()));
    } else if (verbatim) {
      pieces_.push_back(spelling);
    } else {
      pieces_.push_back(spelled_bytes(spelling));
    }
  }
}

}  // namespace tenon
