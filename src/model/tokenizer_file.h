// The tokenizer of a file by itself, whichever kind of file it is.
#pragma once

#include <memory>
#include <string>

#include "base/byte_source.h"
#include "base/system.h"
#include "file/model_file.h"
#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// Placeholder tokenizer: a single empty token, and no tokens for any text.
std::unique_ptr<const Tokenizer> empty_tokenizer(const std::shared_ptr<System>& system);

/// The tokenizer of an open model file. Errors as read_vocabulary and make_tokenizer; the message
/// begins with the file.
std::unique_ptr<const Tokenizer> read_tokenizer(const ModelFile& file,
                                                const std::shared_ptr<System>& system);

/// Reads the tokenizer of a file: a tokenizer.json, or the vocabulary of a model file. Which one it
/// is, is told by its first bytes. Nothing of the file is used afterwards. Errors as
/// make_json_tokenizer and open_model_file.
std::unique_ptr<const Tokenizer> load_tokenizer(const std::string& path,
                                                const std::shared_ptr<System>& system);
/// The same from a source.
std::unique_ptr<const Tokenizer> load_tokenizer(const std::shared_ptr<const ByteSource>& source,
                                                const std::shared_ptr<System>& system);

}  // namespace tenon
