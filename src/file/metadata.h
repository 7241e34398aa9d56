// The metadata of a model file: typed values by key. How files encode it is in gguf_metadata.h;
// what the keys mean is the model's business.
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

/// The types of values; the numbers are those of GGUF files.
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
  const char* name;     ///< as in messages: "u32"
  uint32_t size_bytes;  ///< of a scalar in a file; 0 for strings and arrays
};

/// The entry of a type; null for a number that is no type.
const ValueTypeInfo* find_value_type(uint32_t id) noexcept;

/// Many strings in two blocks, without an object for each. A view: valid while its Metadata lives.
class StringArray {
 public:
  StringArray() = default;
  /// offsets [size + 1] u32, rising, into `bytes`.
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

/// One value. Only the members that `type` names are meaningful. Read it through Metadata.
struct MetadataValue {
  ValueType type = ValueType::U32;
  ValueType element = ValueType::U32;  ///< of an array: any type but Array
  uint64_t count = 0;                  ///< of an array
  uint64_t integer = 0;                ///< u8..u64 and bool; i8..i64 sign-extended
  double real = 0;                     ///< f32, f64
  std::string text;                    ///< string
  Buffer bytes;                        ///< of an array: its scalars, or its strings end to end
  Buffer offsets;                      ///< of an array of strings: [count + 1] u32 into `bytes`

  static MetadataValue of(bool value);
  static MetadataValue of(int64_t value);
  static MetadataValue of(uint64_t value);
  static MetadataValue of(double value);
  static MetadataValue of(std::string value);
  static MetadataValue of(std::span<const int32_t> values);
  static MetadataValue of(const char* value) { return of(std::string(value)); }

  /// "u32", "string", "array of i32".
  [[nodiscard]] std::string type_name() const;
};

/// What get and find can return. Integers convert from any integer type in range, floats from f32
/// and f64; arrays likewise. Nothing else converts.
template <typename T>
concept MetadataType = std::same_as<T, bool> || std::same_as<T, int32_t> ||
    std::same_as<T, uint32_t> || std::same_as<T, int64_t> || std::same_as<T, uint64_t> ||
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::string_view> ||
    std::same_as<T, StringArray> || std::same_as<T, std::vector<int32_t>> ||
    std::same_as<T, std::vector<uint32_t>> || std::same_as<T, std::vector<uint64_t>> ||
    std::same_as<T, std::vector<float>> || std::same_as<T, std::vector<bool>>;

class KeyWatch;

/// Keys in the order of the file, each once. Immutable once the file is open; share freely. Views
/// (string_view, StringArray) live as long as this object.
class Metadata {
 public:
  struct Entry {
    std::string key;
    MetadataValue value;
  };

  /// file_name: what messages begin with.
  explicit Metadata(std::string file_name = {}) : file_name_(std::move(file_name)) {}

  /// The value of `key`. Throws Format: `model.gguf: key "llama.block_count" is missing`, `...:
  /// expected u32, got string`, `...: -1 is outside 0..4294967295`.
  template <MetadataType T>
  [[nodiscard]] T get(std::string_view key) const;
  /// The same, nothing where the key is missing. A value of the wrong type still throws.
  template <MetadataType T>
  [[nodiscard]] std::optional<T> find(std::string_view key) const {
    if (!contains(key)) return std::nullopt;
    return get<T>(key);
  }
  /// The same with a default for a missing key.
  template <MetadataType T>
  [[nodiscard]] T get_or(std::string_view key, T fallback) const {
    return contains(key) ? get<T>(key) : std::move(fallback);
  }
  [[nodiscard]] uint32_t get_u32(std::string_view key) const { return get<uint32_t>(key); }
  [[nodiscard]] float get_f32(std::string_view key) const { return get<float>(key); }
  [[nodiscard]] std::string_view get_string(std::string_view key) const {
    return get<std::string_view>(key);
  }
  /// One value for each of `count` things (layers): the key holds an array of that length, or one
  /// scalar for all. Throws Format otherwise.
  [[nodiscard]] std::vector<uint32_t> get_u32_each(std::string_view key, uint64_t count) const;

  [[nodiscard]] bool contains(std::string_view key) const { return find_value(key) != nullptr; }
  /// The raw value; null where the key is missing.
  [[nodiscard]] const MetadataValue* find_value(std::string_view key) const;
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] const std::string& file_name() const { return file_name_; }

  /// Adds a value. Throws Format when the key is there already.
  void add(std::string key, MetadataValue value);
  /// Adds or replaces a value (an override of the caller's).
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

/// A value that replaces or adds to what the file says.
struct MetadataOverride {
  std::string key;
  MetadataValue value;
};

/// Parses "key=type:value" with type int, float, bool or str, as users write it. Throws Argument.
MetadataOverride parse_metadata_override(std::string_view text);

/// A value as one line of text: strings quoted and cut, arrays with their first elements.
std::string metadata_text(const MetadataValue& value, uint64_t max_elements = 6);

}  // namespace tenon
