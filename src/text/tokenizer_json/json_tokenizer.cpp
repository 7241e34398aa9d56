#include "text/tokenizer_json/json_tokenizer.h"

#include "base/error.h"
#include "base/utf8.h"
#include "text/bpe/byte_alphabet.h"
#include "text/tokenizer/cached_words.h"
#include "text/tokenizer/token_table.h"
#include "text/tokenizer_json/added_tokens.h"
#include "text/tokenizer_json/json_vocabulary.h"
#include "text/tokenizer_json/normalizer.h"
#include "text/tokenizer_json/token_pieces.h"
#include "text/tokenizer_json/word_model.h"
#include "text/tokenizer_json/word_splitter.h"

namespace tenon {
namespace tokenizer_json {
namespace {

/// Parts of a JsonTokenizer besides its table.
struct Machinery {
  Normalizer normalizer;
  std::vector<SplitStage> stages;
  std::unique_ptr<const ModelVocabulary> vocabulary;
  std::unique_ptr<const TokenFinder> finder;
  std::unique_ptr<const WordModel> model;
};

class JsonTokenizer final : public Tokenizer {
 public:
  JsonTokenizer(std::unique_ptr<const TokenTable> token_table, std::shared_ptr<System> system,
                Machinery machinery)
      : Tokenizer(std::move(token_table), std::move(system)),
        machinery_(std::move(machinery)),
        always_(normalized_matcher(false)),
        with_structure_(normalized_matcher(true)) {}

 private:
  /// State of one call of encode_text.
  struct Work {
    Work(const JsonTokenizer& tokenizer, std::string_view text, std::vector<Token>& out)
        : words(tokenizer.system(), tokenizer.caches_, text, out),
          splitter(tokenizer.machinery_.stages),
          scratch{words.buffer()} {}
    CachedWords words;
    WordSplitter splitter;
    WordScratch scratch;
  };

  /// Builds the automaton of tokens matched in normalized text.
  [[nodiscard]] SpecialMatcher normalized_matcher(bool parse_special) const {
    std::vector<std::string> texts;
    std::vector<Token> tokens;
    for (Token token = 0; table().contains(token); ++token) {
      if ((table().matching(token) & kInNormalizedText) == 0) continue;
      if (!is_matched(table(), token, parse_special)) continue;
      bool at_start = false;
      std::string text = machinery_.normalizer.apply(table().spelling(token), at_start);
      if (text.empty()) continue;
      texts.push_back(std::move(text));
      tokens.push_back(token);
    }
    std::vector<SpecialMatcher::Entry> entries;
    for (size_t i = 0; i < texts.size(); ++i) entries.push_back({texts[i], tokens[i]});
    return SpecialMatcher(entries);
  }

  void encode_text(std::string_view text, Place place, std::vector<Token>& out) const override {
    std::string normalized;
    bool at_start = place.at_text_begin;
    if (!machinery_.normalizer.empty()) {
      normalized = machinery_.normalizer.apply(text, at_start);
      text = normalized;
    }
    Work work(*this, text, out);
    const auto on_text = [&](size_t begin, size_t end) {
      work.scratch.begin = begin;
      encode_words(text.substr(begin, end - begin), at_start && begin == 0, work);
    };
    TokenBoundaries tokens(table(), surroundings(), text);
    tokens.cut(place.parse_special ? with_structure_ : always_, 0, text.size(), on_text,
               [&out](Token token) { out.push_back(token); });
    tokens.finish(text.size(), on_text);
  }

  void encode_words(std::string_view text, bool at_begin, Work& work) const {
    const WordBoundaries* const boundaries = machinery_.model->boundaries();
    work.splitter.split(text, at_begin, [&](std::string_view word) {
      for (size_t begin = 0; begin < word.size();) {
        const size_t end = boundaries != nullptr ? boundaries->next(word, begin) : word.size();
        encode_word(word.substr(begin, end - begin), work);
        begin = end;
      }
    });
  }

  void encode_word(std::string_view word, Work& work) const {
    work.words.append(word, work.scratch.begin,
                      [&] { machinery_.model->encode(word, work.scratch); });
    work.scratch.begin += word.size();
  }

  Machinery machinery_;
  SpecialMatcher always_;          // matched in normalized text
  SpecialMatcher with_structure_;  // these, and the others with parse_special
  mutable WordCachePool caches_;
};

/// Limits derived data to the size of vocabularies, which are read into memory whole.
void check_pieces(size_t size_bytes) {
  if (size_bytes > kMaxJsonBytes) {
    fail(Code::Limit, "the tokens stand for more than {} bytes", kMaxJsonBytes);
  }
}

void set_pieces(const Decoder& decoder, const Normalizer& normalizer,
                const std::vector<AddedToken>& added, Vocabulary& out) {
  std::vector<bool> is_text(out.tokens.size(), false);
  std::vector<std::string> texts = out.tokens;
  size_t size_bytes = 0;
  for (const AddedToken& token : added) {
    const auto id = static_cast<size_t>(token.id);
    // An added token's letters are text; a model token's letters are bytes.
    const bool of_words = token.is_of_model && !token.is_special && !is_mark(token.content);
    is_text[id] = decoder.is_byte_level() && !of_words;
    bool at_start = false;
    // A token found in normalized text stands for the normalized text.
    if ((token.matching & kInNormalizedText) != 0) {
      texts[id] = normalizer.apply(texts[id], at_start);
      size_bytes += texts[id].size();
      check_pieces(size_bytes);
    }
  }
  bool differ = false;
  for (size_t id = 0; id < texts.size(); ++id) {
    out.pieces.push_back(is_text[id] ? texts[id] : decoder.piece(texts[id]));
    out.first_pieces.push_back(is_text[id] ? texts[id] : decoder.first_piece(texts[id]));
    size_bytes += out.pieces.back().size() + out.first_pieces.back().size();
    check_pieces(size_bytes);
    differ = differ || out.pieces.back() != out.first_pieces.back();
  }
  if (!differ) out.first_pieces.clear();
}

std::unique_ptr<const Tokenizer> make(const JsonField& root, std::shared_ptr<System> system,
                                      const TokenRoles& roles) {
  Machinery machinery;
  const JsonField model = root.at("model");
  machinery.normalizer = Normalizer(root.at("normalizer"), system);
  machinery.stages = read_split_stages(root.at("pre_tokenizer"));
  JsonVocabulary read = read_json_vocabulary(root, roles);
  machinery.vocabulary = std::move(read.of_model);
  machinery.finder = std::move(read.finder);
  const std::vector<AddedToken>& added = read.added;
  Vocabulary& out = read.vocabulary;
  std::vector<bool> is_special(out.tokens.size(), false);
  for (const AddedToken& token : added) {
    is_special[static_cast<size_t>(token.id)] = token.is_special || is_mark(token.content);
  }

  // Pass words as bytes, without the detour over letters.
  const bool as_bytes = model_type(model) == "BPE" && !machinery.stages.empty() &&
                        machinery.stages.back().kind == SplitStage::Letters &&
                        !machinery.vocabulary->has_byte_tokens &&
                        model.at("continuing_subword_prefix").text_or("").empty() &&
                        model.at("end_of_word_suffix").text_or("").empty();
  if (as_bytes) machinery.stages.pop_back();
  machinery.model =
      make_word_model(model, {*machinery.vocabulary, *machinery.finder, is_special, as_bytes});

  set_pieces(Decoder(root.at("decoder")), machinery.normalizer, added, out);

  TokenizerDefaults defaults;
  defaults.kind = TokenizerKind::Listed;
  return std::make_unique<JsonTokenizer>(std::make_unique<TokenTable>(std::move(out), defaults),
                                         std::move(system), std::move(machinery));
}

}  // namespace
}  // namespace tokenizer_json

std::unique_ptr<const Tokenizer> make_json_tokenizer(std::string_view json, std::string_view name,
                                                     std::shared_ptr<System> system,
                                                     const TokenRoles& roles) {
  const tokenizer_json::Json tree = tokenizer_json::parse_json(json, name);
  try {
    return tokenizer_json::make({tree, std::string(name)}, std::move(system), roles);
  } catch (const Error& error) {
    const std::string_view text = error.what();
    if (text.starts_with(name)) throw;
    fail(error.code(), "{}: {}", name, text);
  }
}

bool looks_like_json(std::string_view beginning) {
  const size_t first = beginning.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && beginning[first] == '{';
}

}  // namespace tenon
