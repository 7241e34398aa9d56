// Loads the tokenizer of a file on its own, for any kind of file.
#pragma once

#include <memory>
#include <string>

#include "base/byte_source.h"
#include "base/system.h"
#include "file/model_file.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer_json/json_tokenizer.h"

namespace tenon {

/// Placeholder tokenizer with one empty token; encodes every text to no tokens.
std::unique_ptr<const Tokenizer> empty_tokenizer(const std::shared_ptr<System>& system);

/// True for a model whose tokenizer is a tokenizer.json, as in folders.
bool has_json_tokenizer(const Metadata& metadata);

/// Roles of tokens that such a model names; views of the metadata.
TokenRoles roles_of(const Metadata& metadata);

/// The tokenizer of an open model file. Errors as read_vocabulary and make_tokenizer, prefixed with
/// the file's name.
std::unique_ptr<const Tokenizer> read_tokenizer(const ModelFile& file,
                                                const std::shared_ptr<System>& system);

/// Loads the tokenizer of a tokenizer.json or of a model file, told apart by the first bytes. The
/// file may be closed afterwards. Errors as make_json_tokenizer and open_model_file.
std::unique_ptr<const Tokenizer> load_tokenizer(const std::string& path,
                                                const std::shared_ptr<System>& system);
/// Loads the tokenizer from a source.
std::unique_ptr<const Tokenizer> load_tokenizer(const std::shared_ptr<const ByteSource>& source,
                                                const std::shared_ptr<System>& system);

}  // namespace tenon
