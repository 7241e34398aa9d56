// The tokens of a tokenizer.json beyond its model, and what it puts around a text: "added_tokens"
// and "post_processor".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/tokenizer_json/json_field.h"
#include "text/tokenizer_json/word_model.h"

namespace tenon::tokenizer_json {

struct AddedToken {
  Token id;
  std::string content;
  uint8_t matching = 0;  ///< TokenMatching bits
  bool is_special = false;
  bool is_of_model = false;  ///< the vocabulary has it, too
};

/// Reads the field "added_tokens", which may be null, and gives each the id that it gets beside the
/// model: that of its content in the vocabulary, else the next free one. Errors as JsonField.
std::vector<AddedToken> read_added_tokens(const JsonField& field,
                                          const ModelVocabulary& vocabulary);

/// The ids around a text.
struct TokensAround {
  std::vector<int64_t> before;
  std::vector<int64_t> after;
};

/// Reads the field "post_processor", which may be null. Errors as JsonField; Unsupported names a
/// type that is not known, or a template that has not the text once.
TokensAround read_tokens_around(const JsonField& field);

}  // namespace tenon::tokenizer_json
