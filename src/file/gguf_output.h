// Writes a GGUF file (version 3) tensor by tensor, so that memory does not grow with the file.
// Reading is in gguf.h; callers define keys and tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic_file.h"
#include "base/system.h"
#include "file/metadata.h"
#include "file/model_file.h"
#include "quant/formats.h"

namespace tenon {

/// Usage: add() and add_tensor() for all keys and tensors, begin(), write() for the tensors' bytes
/// in the order of add_tensor(), commit(). The file appears under its name with commit(). One
/// thread.
class GgufOutput {
 public:
  /// Creates the output file. Throws like AtomicFile.
  GgufOutput(std::shared_ptr<System> system, const std::string& path);

  void add(std::string_view key, uint32_t value);
  void add(std::string_view key, float value);
  void add(std::string_view key, bool value);
  void add(std::string_view key, std::string_view value);
  void add(std::string_view key, const char* value) { add(key, std::string_view(value)); }
  void add(std::string_view key, std::span<const std::string> values);
  void add(std::string_view key, std::span<const int32_t> values);
  void add(std::string_view key, std::span<const uint32_t> values);
  void add(std::string_view key, std::span<const float> values);
  void add(std::string_view key, std::span<const std::byte> values);  ///< u8
  /// Adds a value as it was read from a file, of the same type.
  void add(std::string_view key, const MetadataValue& value);

  /// shape: 1 to 4 extents, outermost first; rows are whole blocks. Throws Argument.
  void add_tensor(std::string_view name, std::span<const uint64_t> shape, Format format);

  /// Bytes of all tensors, without the padding between them.
  [[nodiscard]] uint64_t tensor_bytes() const { return tensor_bytes_; }

  void begin();
  /// Appends bytes of the current tensor; a piece must not cross the tensor's end. Throws Io.
  void write(std::span<const std::byte> bytes);
  /// Finishes the file. Throws Io, and Internal if tensors are incomplete.
  void commit();

 private:
  struct Tensor {
    std::string name;
    uint64_t size_bytes;
  };

  void put_key(std::string_view key, ValueType type);
  template <typename T>
  void put_list(std::string_view key, ValueType type, std::span<const T> values);
  void put_text(std::vector<std::byte>& out, std::string_view text);
  void pad();

  AtomicFile file_;
  std::vector<std::byte> keys_;       // encoded
  std::vector<std::byte> directory_;  // encoded
  uint64_t num_keys_ = 0;
  uint64_t next_offset_ = 0;
  uint64_t tensor_bytes_ = 0;
  std::vector<Tensor> tensors_;
  size_t current_ = 0;         // the tensor being written
  uint64_t current_left_ = 0;  // its missing bytes
};

}  // namespace tenon
