// Builds the tokenizer described by a Hugging Face tokenizer.json.
#pragma once

#include <memory>
#include <string_view>

#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// Text passes through: extraction of added tokens, normalization, splitting into words, the model.
///   json  the whole file
///   name  the file's name in errors
/// Throws Format or Limit naming the field, Unsupported naming an unknown type or option. Ignores
/// the fields "truncation" and "padding".
std::unique_ptr<const Tokenizer> make_json_tokenizer(
    std::string_view json, std::string_view name, std::shared_ptr<System> system = System::real());

/// True if a file with this beginning is JSON rather than a model file.
bool looks_like_json(std::string_view beginning);

}  // namespace tenon
