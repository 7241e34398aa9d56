// The tokenizer that a Hugging Face tokenizer.json describes.
#pragma once

#include <memory>
#include <string_view>

#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// text -> added tokens cut out -> normalized -> words -> tokens, each step as the file says it.
///   json  the whole file
///   name  what errors call it
/// Throws Error(Format) or Error(Limit) naming the field, Error(Unsupported) naming a type or an
/// option that is not known. The fields "truncation" and "padding" are not applied.
std::unique_ptr<const Tokenizer> make_json_tokenizer(
    std::string_view json, std::string_view name, std::shared_ptr<System> system = System::real());

/// Whether a file that begins so is JSON rather than a model file.
bool looks_like_json(std::string_view beginning);

}  // namespace tenon
