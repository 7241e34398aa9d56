// Added tokens of a tokenizer.json, and the tokens it puts around a text: "added_tokens" and
// "post_processor".
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
  bool is_of_model = false;  ///< also in the model's vocabulary
};

/// Reads the field "added_tokens", which may be null. Each token gets the id of its content in the
/// vocabulary, else the next free id. Errors as in JsonField.
std::vector<AddedToken> read_added_tokens(const JsonField& field,
                                          const ModelVocabulary& vocabulary);

/// Ids before and after a text.
struct TokensAround {
  std::vector<int64_t> before;
  std::vector<int64_t> after;
};

/// Reads the field "post_processor", which may be null. Errors as in JsonField. Throws Unsupported
/// for an unknown type, or a template that does not contain the text exactly once.
TokensAround read_tokens_around(const JsonField& field);

}  // namespace tenon::tokenizer_json
