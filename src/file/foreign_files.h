// Models of other programs: recognised by their first bytes or by the files of a folder and refused
// with the way to go.
#pragma once

#include <string>
#include <string_view>

#include "file/file_folder.h"

namespace tenon {

/// Bytes at the start of a file that refuse_foreign_file looks at.
inline constexpr size_t kForeignBytes = 32;

/// Throws Unsupported for the beginning of a file of a known other kind: ONNX, TensorFlow Lite,
/// LiteRT-LM, HDF5, NumPy, a pickle. Returns for all others.
void refuse_foreign_file(std::string_view name, std::string_view beginning);

/// Throws Unsupported for a folder without safetensors: names the kind of its files and the files
/// to fetch instead.
[[noreturn]] void refuse_folder_without_weights(const FileFolder& folder);

}  // namespace tenon
