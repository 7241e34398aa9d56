// An open model file of any format: metadata, a directory of tensors and their bytes. The formats
// are in gguf.h and its neighbours.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/hash.h"
#include "file/metadata.h"
#include "quant/formats.h"

namespace tenon {

inline constexpr uint32_t kMaxTensorRank = 4;

/// A tensor's format, shape and place. Checked on opening: the sizes fit together, the bytes lie
/// inside the file and belong to no other tensor.
struct TensorInfo {
  std::string name;
  Format format = Format::F32;
  uint32_t rank = 1;                             ///< 1..kMaxTensorRank
  std::array<uint64_t, kMaxTensorRank> shape{};  ///< outermost first, each >= 1; unused ones are 1
  uint64_t bytes = 0;
  uint32_t source = 0;  ///< index of the file's source (shard)
  uint64_t offset = 0;  ///< relative to the source

  /// Values per row (the innermost dimension).
  [[nodiscard]] uint64_t row_values() const { return shape[rank - 1]; }
  /// Number of values; fits 64 bits.
  [[nodiscard]] uint64_t num_values() const { return shape[0] * shape[1] * shape[2] * shape[3]; }
  /// Shape and format for messages: "[2048, 512] q4_K".
  [[nodiscard]] std::string text() const;
};

/// Immutable; share freely, read from any thread.
class ModelFile {
 public:
  /// Takes the results of a format's reader. Throws Format if two tensors share a name.
  ModelFile(Metadata metadata, std::vector<TensorInfo> tensors,
            std::vector<std::shared_ptr<const ByteSource>> sources,
            std::vector<uint64_t> header_bytes);

  /// A file with the metadata of `base` and other tensors.
  ///   change  tells the tensors' values from those of `base`
  ModelFile(const ModelFile& base, std::vector<TensorInfo> tensors,
            std::vector<std::shared_ptr<const ByteSource>> sources,
            std::vector<uint64_t> header_bytes, const Hash128& change);

  /// Name for messages: that of the metadata.
  [[nodiscard]] const std::string& name() const { return metadata_->file_name(); }
  [[nodiscard]] const Metadata& metadata() const { return *metadata_; }
  /// All tensors, in the order of the file.
  [[nodiscard]] std::span<const TensorInfo> tensors() const { return tensors_; }
  /// The tensor of this name; null if missing.
  [[nodiscard]] const TensorInfo* find(std::string_view name) const;
  [[nodiscard]] std::span<const std::shared_ptr<const ByteSource>> sources() const {
    return sources_;
  }
  /// Bytes of all tensors.
  [[nodiscard]] uint64_t tensor_bytes() const { return tensor_bytes_; }

  /// Fills `out` with bytes of `tensor` from `offset` in it. Throws Argument if they exceed the
  /// tensor, Io if reading fails or the file has changed since opening.
  void read(const TensorInfo& tensor, uint64_t offset, std::span<std::byte> out) const;

  /// Hash of what was changed while the file was opened (adapters); zero for nothing.
  [[nodiscard]] const Hash128& change() const { return change_; }
  [[nodiscard]] std::span<const uint64_t> header_bytes() const { return header_bytes_; }

  /// Hash of everything before the weights (metadata and directory) and of the sources' sizes;
  /// tells models apart. Reads the headers again.
  [[nodiscard]] Hash128 fingerprint() const;

 private:
  void index_tensors();

  std::shared_ptr<const Metadata> metadata_;
  Hash128 change_;
  std::vector<TensorInfo> tensors_;
  std::vector<uint32_t> by_name_;  // indices into tensors_, sorted by name
  std::vector<std::shared_ptr<const ByteSource>> sources_;
  std::vector<uint64_t> header_bytes_;  // per source, the bytes before its tensors
  uint64_t tensor_bytes_ = 0;
};

}  // namespace tenon
