// Tokens of a tokenizer.json, their types and roles; how texts are cut is read elsewhere.
#pragma once

#include <memory>
#include <vector>

#include "text/tokenizer/vocabulary.h"
#include "text/tokenizer_json/added_tokens.h"
#include "text/tokenizer_json/json_field.h"
#include "text/tokenizer_json/json_tokenizer.h"
#include "text/tokenizer_json/word_model.h"

namespace tenon::tokenizer_json {

struct JsonVocabulary {
  std::unique_ptr<const ModelVocabulary> of_model;
  std::unique_ptr<const TokenFinder> finder;  ///< finds tokens of the model
  std::vector<AddedToken> added;
  /// Without pieces. Ids that no token has are spelled "".
  Vocabulary vocabulary;
};

/// Errors as in JsonField; Format for a role that no token has.
JsonVocabulary read_json_vocabulary(const JsonField& root, const TokenRoles& roles);

}  // namespace tenon::tokenizer_json
