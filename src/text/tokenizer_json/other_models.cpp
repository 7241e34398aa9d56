// Unigram, WordPiece and WordLevel.
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/utf8.h"
#include "text/bpe/byte_alphabet.h"
#include "text/tokenizer/byte_trie.h"
#include "text/tokenizer_json/word_model.h"
#include "text/unicode/utf8_codec.h"
#include "text/unigram/unigram_model.h"

namespace tenon::tokenizer_json {
namespace {

/// Token of the field "unk_token".
Token unknown_of(const JsonField& model, const TokenFinder& finder) {
  const JsonField unknown = model.at("unk_token");
  const Token token = finder.find(unknown.text());
  if (token == TokenFinder::kNone) {
    fail(Code::Format, "{}: {} is not in the vocabulary", unknown.where(),
         tenon::quoted(unknown.text()));
  }
  return token;
}

class UnigramWords final : public WordModel {
 public:
  UnigramWords(const JsonField& model, const ModelParts& parts) {
    const JsonField vocab = model.at("vocab");
    double least = std::numeric_limits<double>::infinity();
    size_t id = 0;
    for (const Json& entry : vocab.array()) {
      const std::string& piece = parts.vocabulary.tokens[id];
      const double score = entry[1].is_number() ? entry[1].get<double>() : std::nan("");
      // Bounds the scores, so that sums stay finite.
      if (!(std::abs(score) <= double{std::numeric_limits<float>::max()})) {
        fail(Code::Format, "{}[{}]: the score is not a number", vocab.where(), id);
      }
      least = std::min(least, score);
      const auto byte = parts.vocabulary.has_byte_tokens ? parse_byte_token(piece) : std::nullopt;
      if (byte) model_.set_byte(*byte, static_cast<Token>(id));
      if (!piece.empty() && !parts.is_special[id]) {
        model_.add_piece(piece, static_cast<Token>(id), score);
      }
      ++id;
    }
    std::optional<Token> unknown;
    const JsonField field = model.at("unk_id");
    if (!field.is_null()) {
      if (field.number() >= id) field.expected("an id in the vocabulary");
      unknown = static_cast<Token>(field.number());
    }
    model_.set_unknown(UnigramModel::unknown_score_below(least), unknown);
    model_.finish();
    if (!model_.is_complete()) field.expected("an id, as there are no byte tokens");
  }

  void encode(std::string_view word, WordScratch& scratch) const override {
    model_.append_best_path(word, scratch.begin, scratch.buffer);
  }

 private:
  UnigramModel model_;
};

class WordPieceWords final : public WordModel {
 public:
  WordPieceWords(const JsonField& model, const ModelParts& parts)
      : unknown_(unknown_of(model, parts.finder)),
        max_characters_(model.at("max_input_chars_per_word").number()) {
    const std::string& prefix = model.at("continuing_subword_prefix").text();
    const std::vector<std::string>& tokens = parts.vocabulary.tokens;
    ByteTrie::Builder first;
    ByteTrie::Builder inside;
    for (size_t id = 0; id < tokens.size(); ++id) {
      if (tokens[id].empty() || parts.is_special[id]) continue;
      first.insert(tokens[id], static_cast<Token>(id));
      if (tokens[id].size() > prefix.size() && tokens[id].starts_with(prefix)) {
        inside.insert(std::string_view(tokens[id]).substr(prefix.size()), static_cast<Token>(id));
      }
    }
    first_ = first.build();
    inside_ = inside.build();
  }

  void encode(std::string_view word, WordScratch& scratch) const override {
    std::vector<Token>& out = scratch.buffer.tokens();
    const size_t before = out.size();
    if (append_pieces(word, out)) return;
    out.resize(before);
    out.push_back(unknown_);
  }

 private:
  /// Takes the longest piece each time; false if none fits or the word is too long.
  bool append_pieces(std::string_view word, std::vector<Token>& out) const {
    size_t characters = 0;
    for (const char c : word) characters += utf8_continues(c) ? 0 : 1;
    if (characters > max_characters_) return false;
    for (size_t at = 0; at < word.size();) {
      const ByteTrie& pieces = at == 0 ? first_ : inside_;
      Token best = ByteTrie::kNoValue;
      size_t best_end = at;
      uint32_t node = ByteTrie::kRoot;
      for (size_t end = at; end < word.size();) {
        node = pieces.child(node, static_cast<uint8_t>(word[end++]));
        if (node == ByteTrie::kNone) break;
        if (pieces.value(node) == ByteTrie::kNoValue) continue;
        best = pieces.value(node);
        best_end = end;
      }
      if (best == ByteTrie::kNoValue) return false;
      out.push_back(best);
      at = best_end;
    }
    return true;
  }

  Token unknown_;
  uint64_t max_characters_;
  ByteTrie first_;
  ByteTrie inside_;
};

class WordLevelWords final : public WordModel {
 public:
  WordLevelWords(const JsonField& model, const ModelParts& parts)
      : finder_(parts.finder),
        unknown_(unknown_of(model, parts.finder)),
        is_special_(parts.is_special) {}

  void encode(std::string_view word, WordScratch& scratch) const override {
    const Token token = finder_.find(word);
    const bool usable = token != TokenFinder::kNone && !is_special_[static_cast<size_t>(token)];
    scratch.buffer.tokens().push_back(usable ? token : unknown_);
  }

 private:
  const TokenFinder& finder_;
  Token unknown_;
  std::vector<bool> is_special_;
};

}  // namespace

std::unique_ptr<const WordModel> make_unigram_model(const JsonField& model,
                                                    const ModelParts& parts) {
  return std::make_unique<UnigramWords>(model, parts);
}

std::unique_ptr<const WordModel> make_wordpiece_model(const JsonField& model,
                                                      const ModelParts& parts) {
  return std::make_unique<WordPieceWords>(model, parts);
}

std::unique_ptr<const WordModel> make_word_level_model(const JsonField& model,
                                                       const ModelParts& parts) {
  return std::make_unique<WordLevelWords>(model, parts);
}

}  // namespace tenon::tokenizer_json
