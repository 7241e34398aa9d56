// Writes valid and invalid GGUF files for tests. Checks nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "file/metadata.h"
#include "quant/formats.h"

namespace tenon {

/// Little-endian bytes, appended.
class ByteWriter {
 public:
  template <typename T>
  requires std::is_arithmetic_v<T> ByteWriter& put(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof(T));
    return *this;
  }
  ByteWriter& put_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  /// A string of a GGUF file: u64 length, then bytes.
  ByteWriter& put_string(std::string_view text) {
    return put<uint64_t>(text.size()).put_bytes(std::as_bytes(std::span(text)));
  }
  void pad_to(uint64_t alignment) {
    while (bytes_.size() % alignment != 0) bytes_.push_back(std::byte{0});
  }
  [[nodiscard]] uint64_t size() const { return bytes_.size(); }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// A directory entry as written: any number of dimensions, innermost first.
struct RawTensor {
  std::string name;
  std::vector<uint64_t> dimensions;
  uint32_t type = 0;
  std::optional<uint64_t> offset;  ///< into the data; default: after the tensor before, aligned
  std::vector<std::byte> bytes;
  std::optional<uint32_t> rank;  ///< by default the number of dimensions
};

/// Usage:
///     GgufWriter writer;
///     writer.add("general.architecture", "llama");
///     writer.add("llama.block_count", uint32_t{2});
///     writer.add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"});
///     writer.add_tensor("token_embd.weight", {vocab, width}, Format::F32, bytes);
///     std::vector<std::byte> file = writer.finish();
class GgufWriter {
 public:
  /// Adds a scalar (bool, u8..i64, float, double), text, or a vector of scalars or strings. The
  /// argument's type determines that in the file.
  template <typename T>
  GgufWriter& add(std::string_view key, const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      return add_raw(key, type_of<T>(), ByteWriter().put(value).bytes());
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
      return add_raw(key, ValueType::String, ByteWriter().put_string(value).bytes());
    } else {
      return add_array(key, value);
    }
  }
  /// Adds a key with any bytes as its value.
  GgufWriter& add_raw(std::string_view key, ValueType type, std::span<const std::byte> value) {
    keys_.put_string(key).put(static_cast<uint32_t>(type)).put_bytes(value);
    ++num_keys_;
    return *this;
  }

  /// Adds a tensor; shape outermost first. `bytes` must fit format and shape.
  GgufWriter& add_tensor(std::string name, const std::vector<uint64_t>& shape, Format format,
                         std::span<const std::byte> bytes) {
    return add_raw_tensor({std::move(name),
                           {shape.rbegin(), shape.rend()},
                           static_cast<uint32_t>(format),
                           {},
                           {bytes.begin(), bytes.end()},
                           {}});
  }
  /// Adds a tensor of f32 values.
  GgufWriter& add_tensor(std::string name, const std::vector<uint64_t>& shape,
                         std::span<const float> values) {
    return add_tensor(std::move(name), shape, Format::F32, std::as_bytes(values));
  }
  GgufWriter& add_raw_tensor(RawTensor tensor) {
    tensors_.push_back(std::move(tensor));
    return *this;
  }

  // Header fields; the defaults are correct.
  uint32_t magic = 0x46554747;
  uint32_t version = 3;
  std::optional<uint64_t> num_tensors;
  std::optional<uint64_t> num_keys;
  /// Alignment of the data. A file with another than 32 must also add("general.alignment", ...).
  uint64_t alignment = 32;

  /// Builds the file. May be called again after changes.
  [[nodiscard]] std::vector<std::byte> finish() const {
    ByteWriter out;
    out.put(magic).put(version);
    out.put<uint64_t>(num_tensors.value_or(tensors_.size()));
    out.put<uint64_t>(num_keys.value_or(num_keys_));
    out.put_bytes(keys_.bytes());
    uint64_t offset = 0;
    for (const RawTensor& tensor : tensors_) {
      out.put_string(tensor.name);
      out.put<uint32_t>(tensor.rank.value_or(static_cast<uint32_t>(tensor.dimensions.size())));
      for (const uint64_t extent : tensor.dimensions) out.put(extent);
      out.put(tensor.type).put<uint64_t>(tensor.offset.value_or(offset));
      offset += (tensor.bytes.size() + alignment - 1) / alignment * alignment;
    }
    for (const RawTensor& tensor : tensors_) {
      out.pad_to(alignment);
      out.put_bytes(tensor.bytes);
    }
    if (!tensors_.empty()) out.pad_to(alignment);
    return out.bytes();
  }

 private:
  template <typename T>
  static constexpr ValueType type_of() {
    if constexpr (std::is_same_v<T, bool>) return ValueType::Bool;
    if constexpr (std::is_same_v<T, float>) return ValueType::F32;
    if constexpr (std::is_same_v<T, double>) return ValueType::F64;
    if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? ValueType::I8 : ValueType::U8;
    if constexpr (sizeof(T) == 2) return std::is_signed_v<T> ? ValueType::I16 : ValueType::U16;
    if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? ValueType::I32 : ValueType::U32;
    return std::is_signed_v<T> ? ValueType::I64 : ValueType::U64;
  }

  template <typename T>
  GgufWriter& add_array(std::string_view key, const std::vector<T>& values) {
    ByteWriter value;
    if constexpr (std::is_arithmetic_v<T>) {
      value.put(static_cast<uint32_t>(type_of<T>())).put<uint64_t>(values.size());
      for (const T element : values) value.put<T>(element);
    } else {
      value.put(static_cast<uint32_t>(ValueType::String)).put<uint64_t>(values.size());
      for (const std::string_view element : values) value.put_string(element);
    }
    return add_raw(key, ValueType::Array, value.bytes());
  }

  ByteWriter keys_;
  uint64_t num_keys_ = 0;
  std::vector<RawTensor> tensors_;
};

}  // namespace tenon
