// The weights of a model folder: all tensors of its safetensors files, found by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/system.h"
#include "file/file_folder.h"
#include "file/safetensors.h"

namespace tenon {

/// Immutable; read from any thread.
class TensorFolder {
 public:
  /// Opens the weights of a folder: the files that its index names, else "model.safetensors", else
  /// all of "<stem>-NNNNN-of-NNNNN.safetensors", else its only safetensors file. Reads headers
  /// only; the header holds if the index differs. Throws as read_safetensors, Format for an index
  /// that is malformed or names a file outside the folder and for a repeated tensor, Unsupported
  /// with advice for a folder without safetensors.
  static std::shared_ptr<const TensorFolder> open(const std::shared_ptr<const FileFolder>& folder,
                                                  const std::shared_ptr<System>& system);
  /// The tensors of some safetensors files, whatever their names.
  static std::shared_ptr<const TensorFolder> open_files(
      std::span<const std::shared_ptr<const ByteSource>> sources, std::string name,
      const std::shared_ptr<System>& system);

  /// Name of the folder in messages.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Sorted by name.
  [[nodiscard]] std::span<const StoredTensor> tensors() const { return tensors_; }
  /// The tensor of this name; null for an absent one.
  [[nodiscard]] const StoredTensor* find(std::string_view name) const;
  /// A text of the "__metadata__" of any file; null for an absent one.
  [[nodiscard]] const std::string* metadata(std::string_view key) const;
  [[nodiscard]] std::span<const std::shared_ptr<const ByteSource>> sources() const {
    return sources_;
  }

  /// "<file>: tensor "name" [2, 3] F16", for messages.
  [[nodiscard]] std::string place(const StoredTensor& tensor) const;
  /// Fills `out` with the bytes of `tensor` from `offset` in it. Throws Argument when they do not
  /// lie in the tensor, Io when reading fails or the file has changed.
  void read(const StoredTensor& tensor, uint64_t offset, std::span<std::byte> out) const;

 private:
  TensorFolder() = default;

  std::string name_;
  std::vector<StoredTensor> tensors_;
  std::vector<std::pair<std::string, std::string>> metadata_;  // sorted by key
  std::vector<std::shared_ptr<const ByteSource>> sources_;
};

}  // namespace tenon
