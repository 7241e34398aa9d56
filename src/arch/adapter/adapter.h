// Adapters (LoRA): changes of a model's tensors, read from a PEFT folder or a GGUF file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/system.h"
#include "file/file_folder.h"
#include "file/model_file.h"

namespace tenon {

/// Rows [first_row, first_row + num_rows) of a tensor become w + scale b a, times the scale that the
/// user gives. Leading dimensions of the tensor count as rows.
struct LowRankChange {
  std::string tensor;  ///< of the model's file; "output.weight" may be missing there
  uint64_t first_row = 0;
  uint64_t num_rows = 0;
  uint64_t num_columns = 0;
  uint64_t rank = 0;
  float scale = 1.0f;
  std::vector<float> a;  ///< [rank, num_columns]
  std::vector<float> b;  ///< [num_rows, rank]
  /// [num_rows] norms of the changed rows (DoRA, Liu et al. 2024, arXiv 2402.09353), or empty.
  std::vector<float> magnitudes;
};

/// Values added to a bias, times the scale that the user gives.
struct BiasChange {
  std::string tensor;         ///< may be missing in the model's file
  std::vector<float> values;  ///< [columns]
};

/// Rows that take the place of the model's, whatever the scale.
struct ReplacedRows {
  std::string tensor;          ///< "output.weight" may be missing in the model's file
  std::vector<uint64_t> rows;  ///< numbers of the rows; empty: all
  uint64_t num_columns = 0;
  std::vector<float> values;  ///< [rows, num_columns]
};

/// Everything fits the model that it was read for: tensors are there, and have these sizes.
struct Adapter {
  std::string name;  ///< of its file or folder, for messages
  std::vector<LowRankChange> changes;
  std::vector<BiasChange> biases;
  std::vector<ReplacedRows> replaced;
  /// Tokens from whose last occurrence on it is active (aLoRA); empty: everywhere.
  std::vector<int32_t> invocation;
  Hash128 fingerprint;  ///< of all values above
};

/// An adapter and the factor that the user gives.
struct ScaledAdapter {
  std::shared_ptr<const Adapter> adapter;
  float scale = 1.0f;  ///< 0: the adapter changes nothing
};

/// Reads an adapter for a model: a GGUF file, or a folder with an adapter_config.json (or the path
/// of that file or of adapter_model.safetensors). Throws Format for what is damaged, Unsupported for
/// what is not computed or does not fit the model, naming the key or the tensor; Limit, Io,
/// NoMemory.
std::shared_ptr<const Adapter> read_adapter(const std::string& path, const ModelFile& model,
                                            const std::shared_ptr<System>& system);
/// Reads a PEFT folder. Throws likewise.
std::shared_ptr<const Adapter> read_peft_adapter(const std::shared_ptr<const FileFolder>& folder,
                                                 const ModelFile& model,
                                                 const std::shared_ptr<System>& system);
/// Reads an adapter from an open GGUF file. Throws likewise.
std::shared_ptr<const Adapter> read_gguf_adapter(const ModelFile& file, const ModelFile& model);

}  // namespace tenon
