// An open model file of any kind as the rest of the engine sees it: metadata, a directory of
// tensors and their bytes. The file formats are in gguf.h and its neighbours.
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

/// Where a tensor lies and how to read it. Checked when the file is opened: the sizes fit together,
/// the bytes lie inside the file and belong to no other tensor.
struct TensorInfo {
  std::string name;
  Format format = Format::F32;
  uint32_t rank = 1;                             ///< 1..kMaxTensorRank
  std::array<uint64_t, kMaxTensorRank> shape{};  ///< [0..rank) outermost first, each >= 1; then 1s
  uint64_t bytes = 0;
  uint32_t source = 0;  ///< which of the file's sources (shards)
  uint64_t offset = 0;  ///< in that source

  /// Values in a row, the innermost dimension.
  [[nodiscard]] uint64_t row_values() const { return shape[rank - 1]; }
  /// Values in all; fits 64 bits.
  [[nodiscard]] uint64_t num_values() const { return shape[0] * shape[1] * shape[2] * shape[3]; }
  /// "[2048, 512] q4_K".
  [[nodiscard]] std::string text() const;
};

/// Immutable; share freely, read from any thread.
class ModelFile {
 public:
  /// What a reader of a file format found. Throws Format when two tensors have one name.
  ModelFile(Metadata metadata, std::vector<TensorInfo> tensors,
            std::vector<std::shared_ptr<const ByteSource>> sources,
            std::vector<uint64_t> header_bytes);

  /// What messages call the file: the name of its first source.
  [[nodiscard]] const std::string& name() const { return sources_.front()->name(); }
  [[nodiscard]] const Metadata& metadata() const { return metadata_; }
  /// In the order of the file.
  [[nodiscard]] std::span<const TensorInfo> tensors() const { return tensors_; }
  /// The tensor of this name; null when there is none.
  [[nodiscard]] const TensorInfo* find(std::string_view name) const;
  [[nodiscard]] std::span<const std::shared_ptr<const ByteSource>> sources() const {
    return sources_;
  }
  /// Bytes of all tensors together.
  [[nodiscard]] uint64_t tensor_bytes() const { return tensor_bytes_; }

  /// Fills `out` with the bytes of `tensor` from `offset` in it. Throws Argument when they do not
  /// lie in the tensor, Io when reading fails or the file has changed since it was opened.
  void read(const TensorInfo& tensor, uint64_t offset, std::span<std::byte> out) const;

  /// A fingerprint of all that is before the weights (metadata and directory) and of the sizes of
  /// the sources, to tell models apart. Reads the headers again.
  [[nodiscard]] Hash128 fingerprint() const;

 private:
  Metadata metadata_;
  std::vector<TensorInfo> tensors_;
  std::vector<uint32_t> by_name_;  // indices of tensors_, in the order of names
  std::vector<std::shared_ptr<const ByteSource>> sources_;
  std::vector<uint64_t> header_bytes_;  // per source, the bytes before its tensors
  uint64_t tensor_bytes_ = 0;
};

}  // namespace tenon
