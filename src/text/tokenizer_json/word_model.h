// How a tokenizer.json turns a word into tokens: "model".
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/bpe/merge_table.h"
#include "text/tokenizer/string_index.h"
#include "text/tokenizer/token_buffer.h"
#include "text/tokenizer/vocabulary.h"
#include "text/tokenizer/word_boundaries.h"
#include "text/tokenizer_json/json_field.h"

namespace tenon::tokenizer_json {

/// The tokens of the model itself, without those that were added.
struct ModelVocabulary {
  std::vector<std::string> tokens;  ///< by id; an id that is not given is empty
  size_t count = 0;                 ///< of tokens that are given
  bool has_byte_tokens = false;     ///< <0xNN> stands for a byte
};

/// Spellings to ids, for models; the vocabulary must outlive it.
class TokenFinder {
 public:
  explicit TokenFinder(const std::vector<std::string>& tokens);
  /// The token spelled so, or kNone.
  [[nodiscard]] Token find(std::string_view spelling) const;
  static constexpr Token kNone = -1;

 private:
  const std::vector<std::string>* tokens_;
  StringIndex index_;
};

/// What a call needs from word to word.
struct WordScratch {
  TokenBuffer& buffer;  ///< the tokens go there
  size_t begin = 0;     ///< of the next word in the text that the buffer is for
  std::vector<Symbol> symbols = {};
  std::string text = {};
};

/// Immutable once made.
class WordModel {
 public:
  virtual ~WordModel() = default;
  /// Appends the tokens of a word: not empty, well-formed UTF-8 (or bytes, where
  /// takes_bytes() said so).
  virtual void encode(std::string_view word, WordScratch& scratch) const = 0;
  /// Whether the model takes bytes for their letters; then it is given words without the letters.
  [[nodiscard]] virtual bool takes_bytes() const { return false; }
  /// Where words may be cut further, null: nowhere.
  [[nodiscard]] virtual const WordBoundaries* boundaries() const { return nullptr; }
};

/// Reads the vocabulary of the field "model". Errors as JsonField.
ModelVocabulary read_model_vocabulary(const JsonField& model);

/// What a model is made of. The finder and its vocabulary must outlive the model.
struct ModelParts {
  const ModelVocabulary& vocabulary;
  const TokenFinder& finder;
  /// [vocab] whether plain text must not become the token: special ones and marks
  const std::vector<bool>& is_special;
  bool as_bytes;  ///< words come as bytes, though the vocabulary spells letters
};

/// Makes the model of the field "model". Errors as JsonField; Unsupported names a type or an option
/// that is not known.
std::unique_ptr<const WordModel> make_word_model(const JsonField& model, const ModelParts& parts);

/// The type of the field "model": older files have none, and it is told by their members.
std::string_view model_type(const JsonField& model);

// One maker for each type.
std::unique_ptr<const WordModel> make_bpe_model(const JsonField& model, const ModelParts& parts);
std::unique_ptr<const WordModel> make_wordpiece_model(const JsonField& model,
                                                      const ModelParts& parts);
std::unique_ptr<const WordModel> make_word_level_model(const JsonField& model,
                                                       const ModelParts& parts);
std::unique_ptr<const WordModel> make_unigram_model(const JsonField& model,
                                                    const ModelParts& parts);

}  // namespace tenon::tokenizer_json
