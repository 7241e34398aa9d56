// The metadata of a model file: typed values by key. gguf_metadata.h encodes them; models define
// the keys.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/buffer.h"

namespace tenon {

/// Types of values; the numbers are those of GGUF files.
enum class ValueType : uint32_t {
  U8 = 0,
  I8 = 1,
  U16 = 2,
  I16 = 3,
  U32 = 4,
  I32 = 5,
  F32 = 6,
  Bool = 7,
  String = 8,
  Array = 9,
  U64 = 10,
  I64 = 11,
  F64 = 12,
};

struct ValueTypeInfo {
  ValueType type;
  const char* name;     ///< spelling in messages: "u32"
  uint32_t size_bytes;  ///< size of a scalar in a file; 0 for strings and arrays
};

/// The entry of a type; null for an unknown number.
const ValueTypeInfo* find_value_type(uint32_t id) noexcept;

/// Many strings in two allocations instead of an object each. A view: valid while its Metadata
/// lives.
class StringArray {
 public:
  StringArray() = default;
  /// offsets [size + 1] u32, ascending, into `bytes`.
  StringArray(const char* bytes, const uint32_t* offsets, uint64_t size)
      : bytes_(bytes), offsets_(offsets), size_(size) {}
  [[nodiscard]] uint64_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// index < size().
  [[nodiscard]] std::string_view operator[](uint64_t index) const {
    return {bytes_ + offsets_[index], offsets_[index + 1] - offsets_[index]};
  }

 private:
  const char* bytes_ = nullptr;
  const uint32_t* offsets_ = nullptr;
  uint64_t size_ = 0;
};

/// One value. Only the members of its `type` are meaningful. Read it through Metadata.
struct MetadataValue {
  ValueType type = ValueType::U32;
  ValueType element = ValueType::U32;  ///< element type of an array: any but Array
  uint64_t count = 0;                  ///< elements of an array
  uint64_t integer = 0;                ///< u8..u64 and bool; i8..i64 sign-extended
  double real = 0;                     ///< f32, f64
  std::string text;                    ///< string
  Buffer bytes;                        ///< an array's scalars, or its strings end to end
  Buffer offsets;  ///< offsets of an array's strings: [count + 1] u32 into `bytes`

  static MetadataValue of(bool value);
  static MetadataValue of(int64_t value);
  static MetadataValue of(uint64_t value);
  static MetadataValue of(double value);
  static MetadataValue of(std::string value);
  static MetadataValue of(std::span<const int32_t> values);
  static MetadataValue of(const char* value) { return of(std::string(value)); }

  /// Name of the type: "u32", "string", "array of i32".
  [[nodiscard]] std::string type_name() const;
};

/// Result types of get and find. Integers convert from any integer type in range, floats from f32
/// and f64; arrays likewise. No other conversions.
template <typename T>
concept MetadataType = std::same_as<T, bool> || std::same_as<T, int32_t> ||
    std::same_as<T, uint32_t> || std::same_as<T, int64_t> || std::same_as<T, uint64_t> ||
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::string_view> ||
    std::same_as<T, StringArray> || std::same_as<T, std::vector<int32_t>> ||
    std::same_as<T, std::vector<uint32_t>> || std::same_as<T, std::vector<uint64_t>> ||
    std::same_as<T, std::vector<float>> || std::same_as<T, std::vector<bool>>;

class KeyWatch;

/// Unique keys in the order of the file. Immutable once the file is open, so share freely. Views
/// (string_view, StringArray) live as long as this object.
class Metadata {
 public:
  struct Entry {
    std::string key;
    MetadataValue value;
  };

  /// file_name: the beginning of messages.
  explicit Metadata(std::string file_name = {}) : file_name_(std::move(file_name)) {}

  /// The value of `key`. Throws Format: `model.gguf: key "llama.block_count" is missing`, `...:
  /// expected u32, got string`, `...: -1 is outside 0..4294967295`.
  template <MetadataType T>
  [[nodiscard]] T get(std::string_view key) const;
  /// Like get, but nothing for a missing key. A value of the wrong type still throws.
  template <MetadataType T>
  [[nodiscard]] std::optional<T> find(std::string_view key) const {
    if (!contains(key)) return std::nullopt;
    return get<T>(key);
  }
  /// Like get, with a default for a missing key.
  template <MetadataType T>
  [[nodiscard]] T get_or(std::string_view key, T fallback) const {
    return contains(key) ? get<T>(key) : std::move(fallback);
  }
  [[nodiscard]] uint32_t get_u32(std::string_view key) const { return get<uint32_t>(key); }
  [[nodiscard]] float get_f32(std::string_view key) const { return get<float>(key); }
  [[nodiscard]] std::string_view get_string(std::string_view key) const {
    return get<std::string_view>(key);
  }
  /// One value for each of `count` items (layers): the key holds an array of this length, or one
  /// scalar for all. Throws Format otherwise.
  [[nodiscard]] std::vector<uint32_t> get_u32_each(std::string_view key, uint64_t count) const;

  [[nodiscard]] bool contains(std::string_view key) const { return find_value(key) != nullptr; }
  /// The raw value; null for a missing key.
  [[nodiscard]] const MetadataValue* find_value(std::string_view key) const;
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] const std::string& file_name() const { return file_name_; }

  /// Adds a value. Throws Format if the key exists.
  void add(std::string key, MetadataValue value);
  /// Adds a value, or replaces it: an override by the caller.
  void set(std::string key, MetadataValue value);

  /// Starts tracking which keys are read, until expect_asked. keys: overrides that need a reader.
  void watch(std::vector<std::string> keys);
  /// Throws Argument for an override without a reader, naming the nearest key read.
  void expect_asked() const;
  /// Stops tracking.
  void end_watch() const;

 private:
  std::string file_name_;
  std::vector<Entry> entries_;
  std::map<std::string, size_t, std::less<>> index_;
  std::shared_ptr<KeyWatch> watch_;  // null without overrides
};

/// A value that replaces, or adds to, those of the file.
struct MetadataOverride {
  std::string key;
  MetadataValue value;
};

/// Parses "key=type:value" with type int, float, bool or str, as users write it. Throws Argument.
MetadataOverride parse_metadata_override(std::string_view text);

/// Sets the values and watches their keys for a reader. Throws Argument for an unusable key.
void apply_overrides(Metadata& metadata, std::vector<MetadataOverride> overrides);

/// A value as one line of text: strings quoted and cut, arrays with their first elements.
std::string metadata_text(const MetadataValue& value, uint64_t max_elements = 6);

}  // namespace tenon
