// Builds the tokenizer described by a Hugging Face tokenizer.json.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// Roles of tokens by their spellings, as files beside a tokenizer.json give them; empty for none.
struct TokenRoles {
  std::string_view bos, eos, padding, unknown;
  std::vector<int64_t> end_tokens = {};  ///< more tokens that end an answer
};

/// Text passes through: extraction of added tokens, normalization, splitting into words, the model.
///   json  the whole file
///   name  the file's name in errors
/// Throws Format or Limit naming the field, Unsupported naming an unknown type or option. Ignores
/// the fields "truncation" and "padding".
std::unique_ptr<const Tokenizer> make_json_tokenizer(
    std::string_view json, std::string_view name, std::shared_ptr<System> system = System::real(),
    const TokenRoles& roles = {});

/// True if a file with this beginning is JSON rather than a model file.
bool looks_like_json(std::string_view beginning);

}  // namespace tenon
