// Tokenization of words in a tokenizer.json: "model".
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

/// Tokens of the model, without added tokens.
struct ModelVocabulary {
  std::vector<std::string> tokens;  ///< indexed by id; unused ids are empty
  size_t count = 0;                 ///< number of used ids
  bool has_byte_tokens = false;     ///< tokens <0xNN> stand for bytes
};

/// Maps spellings to ids; the vocabulary must outlive it.
class TokenFinder {
 public:
  explicit TokenFinder(const std::vector<std::string>& tokens);
  /// The token with this spelling, or kNone.
  [[nodiscard]] Token find(std::string_view spelling) const;
  static constexpr Token kNone = -1;

 private:
  const std::vector<std::string>* tokens_;
  StringIndex index_;
};

/// State of one call, reused from word to word.
struct WordScratch {
  TokenBuffer& buffer;  ///< receives the tokens
  size_t begin = 0;     ///< offset of the next word in the buffer's text
  std::vector<Symbol> symbols = {};
  std::string text = {};
};

/// Tokenizes words. Immutable.
class WordModel {
 public:
  virtual ~WordModel() = default;
  /// Appends the tokens of a word: not empty, well-formed UTF-8 (arbitrary bytes if takes_bytes()).
  virtual void encode(std::string_view word, WordScratch& scratch) const = 0;
  /// True if words must be bytes instead of letters of the byte alphabet.
  [[nodiscard]] virtual bool takes_bytes() const { return false; }
  /// Boundaries at which words may be cut further; may be null.
  [[nodiscard]] virtual const WordBoundaries* boundaries() const { return nullptr; }
};

/// Reads the vocabulary of the field "model". Errors as in JsonField.
ModelVocabulary read_model_vocabulary(const JsonField& model);

/// Parts of a model. The finder and its vocabulary must outlive the model.
struct ModelParts {
  const ModelVocabulary& vocabulary;
  const TokenFinder& finder;
  /// [vocab] true for tokens that plain text must not become: special ones and marks.
  const std::vector<bool>& is_special;
  bool as_bytes;  ///< words are bytes, though the vocabulary spells letters
};

/// Makes the model of the field "model". Errors as in JsonField; Unsupported for an unknown type or
/// option.
std::unique_ptr<const WordModel> make_word_model(const JsonField& model, const ModelParts& parts);

/// Type of the field "model". Older files lack it; their members determine it.
std::string_view model_type(const JsonField& model);

// Makers of each type.
std::unique_ptr<const WordModel> make_bpe_model(const JsonField& model, const ModelParts& parts);
std::unique_ptr<const WordModel> make_wordpiece_model(const JsonField& model,
                                                      const ModelParts& parts);
std::unique_ptr<const WordModel> make_word_level_model(const JsonField& model,
                                                       const ModelParts& parts);
std::unique_ptr<const WordModel> make_unigram_model(const JsonField& model,
                                                    const ModelParts& parts);

}  // namespace tenon::tokenizer_json
