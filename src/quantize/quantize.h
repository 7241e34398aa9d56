// Writes a model file with its matrices in other formats. file_types.h has the formats of each type
// of files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "file/gguf_output.h"
#include "file/model_file.h"
#include "quant/formats.h"

namespace tenon {

struct QuantizeOptions {
  /// Name of a file type: "Q4_K_M". Empty: every tensor keeps its format; those of memory alone
  /// (quant/formats.h) become f32.
  std::string type{};
  /// Formats of single tensors, one "PATTERN=FORMAT" per line. PATTERN is a regular expression that
  /// is searched for in the tensor's name; the first that is found counts. "@output" means the
  /// output matrix, or the embedding that serves as one, "@embedding" the embedding; these outrank
  /// patterns.
  std::string formats{};
  bool pure = false;         ///< the type's format for all matrices, without rules for layers
  bool keep_output = false;  ///< leaves the output matrix as it is
  bool requantize = false;   ///< accepts matrices that are quantised already
  bool without_importance = false;  ///< accepts such types without an importance matrix
  std::string importance{};         ///< path of an importance matrix, or empty
  uint32_t threads = 0;             ///< 0: all that the process may use
  /// Adds keys that the model's file lacks; may be empty.
  std::function<void(GgufOutput& out)> add_keys{};
  /// Returns false to cancel. `tensor` is the one whose bytes come next.
  std::function<bool(std::string_view tensor, double fraction)> progress{};
};

/// The format of a tensor before and after.
struct TensorChange {
  std::string name;
  Format from = Format::F32;
  Format to = Format::F32;
  uint64_t bytes_before = 0;
  uint64_t bytes_after = 0;
};

/// Decides the format of each tensor, in the order of the file. Throws Argument for unknown names,
/// a malformed line of formats, one that no tensor matches, and an importance matrix of another
/// model; Unsupported for quantised matrices without `requantize`, formats that need importance
/// where it is unknown, and projectors; Io and Format like ImportanceMatrix::read.
std::vector<TensorChange> plan_quantization(const std::shared_ptr<System>& system,
                                            const ModelFile& file, const QuantizeOptions& options);

/// Writes `path`, a GGUF file with the keys of `file`. Memory: the directory, pieces of 8 MiB or a
/// row, a row of f32 per thread, and the importance matrix. The file appears complete or not at
/// all. Throws like plan_quantization; Argument if `path` is a file of the model; Format for a value
/// that is not finite, naming the tensor; Io; Cancelled.
void write_quantized(const std::shared_ptr<System>& system, const ModelFile& file,
                     const std::string& path, const QuantizeOptions& options);

}  // namespace tenon
