#include "file/metadata.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/error.h"
#include "base/utf8.h"
#include "file/key_watch.h"

namespace tenon {
namespace {

constexpr ValueTypeInfo kValueTypes[] = {
    {ValueType::U8, "u8", 1},       {ValueType::I8, "i8", 1},     {ValueType::U16, "u16", 2},
    {ValueType::I16, "i16", 2},     {ValueType::U32, "u32", 4},   {ValueType::I32, "i32", 4},
    {ValueType::F32, "f32", 4},     {ValueType::Bool, "bool", 1}, {ValueType::String, "string", 0},
    {ValueType::Array, "array", 0}, {ValueType::U64, "u64", 8},   {ValueType::I64, "i64", 8},
    {ValueType::F64, "f64", 8},
};

const char* name_of(ValueType type) { return find_value_type(static_cast<uint32_t>(type))->name; }

bool is_unsigned(ValueType type) {
  return type == ValueType::U8 || type == ValueType::U16 || type == ValueType::U32 ||
         type == ValueType::U64;
}
bool is_signed(ValueType type) {
  return type == ValueType::I8 || type == ValueType::I16 || type == ValueType::I32 ||
         type == ValueType::I64;
}
bool is_real(ValueType type) { return type == ValueType::F32 || type == ValueType::F64; }

/// A scalar of any type in the file; input of the conversions below.
struct Scalar {
  ValueType type;
  uint64_t integer;
  double real;
};

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

/// Element `index` of an array of scalars.
Scalar element_at(const MetadataValue& array, uint64_t index) {
  const uint64_t size = find_value_type(static_cast<uint32_t>(array.element))->size_bytes;
  const std::byte* from = array.bytes.data() + index * size;
  const auto of_signed = [&](int64_t value) {
    return Scalar{array.element, static_cast<uint64_t>(value), 0};
  };
  switch (array.element) {
    case ValueType::U8:
    case ValueType::Bool:
      return {array.element, load<uint8_t>(from), 0};
    case ValueType::U16:
      return {array.element, load<uint16_t>(from), 0};
    case ValueType::U32:
      return {array.element, load<uint32_t>(from), 0};
    case ValueType::U64:
      return {array.element, load<uint64_t>(from), 0};
    case ValueType::I8:
      return of_signed(load<int8_t>(from));
    case ValueType::I16:
      return of_signed(load<int16_t>(from));
    case ValueType::I32:
      return of_signed(load<int32_t>(from));
    case ValueType::I64:
      return of_signed(load<int64_t>(from));
    case ValueType::F32:
      return {array.element, 0, load<float>(from)};
    case ValueType::F64:
      return {array.element, 0, load<double>(from)};
    case ValueType::String:
    case ValueType::Array:
      break;
  }
  fail(Code::Internal, "array of {} has no scalars", name_of(array.element));
}

template <typename T>
constexpr const char* kExpected = nullptr;
template <>
constexpr const char* kExpected<bool> = "bool";
template <>
constexpr const char* kExpected<int32_t> = "i32";
template <>
constexpr const char* kExpected<uint32_t> = "u32";
template <>
constexpr const char* kExpected<int64_t> = "i64";
template <>
constexpr const char* kExpected<uint64_t> = "u64";
template <>
constexpr const char* kExpected<float> = "f32";
template <>
constexpr const char* kExpected<double> = "f64";

/// Names the place in messages.
struct Place {
  const std::string& file_name;
  std::string_view key;

  template <typename Got>
  [[noreturn]] void wrong_type(std::string_view expected, const Got& got) const {
    fail(Code::Format, "{}: key {}: expected {}, got {}", file_name, quoted(key), expected, got);
  }
  template <typename T, typename Value>
  [[noreturn]] void out_of_range(const Value& value) const {
    fail(Code::Format, "{}: key {}: {} is outside {}..{}", file_name, quoted(key), value,
         std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max());
  }
};

/// Tells whether values of this type convert to T: bool, an integer or a float type.
template <typename T>
bool converts(ValueType type) {
  if constexpr (std::same_as<T, bool>) return type == ValueType::Bool;
  if constexpr (std::is_integral_v<T>) return is_unsigned(type) || is_signed(type);
  return is_real(type);
}

/// Converts a scalar of a suitable type to T; throws if it is out of range.
template <typename T>
T convert(const Scalar& from, const Place& place) {
  if constexpr (std::same_as<T, bool>) {
    return from.integer != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (is_unsigned(from.type)) {
      if (!std::in_range<T>(from.integer)) place.out_of_range<T>(from.integer);
      return static_cast<T>(from.integer);
    }
    const auto value = static_cast<int64_t>(from.integer);
    if (!std::in_range<T>(value)) place.out_of_range<T>(value);
    return static_cast<T>(value);
  } else {
    if (std::isfinite(from.real) && std::fabs(from.real) > std::numeric_limits<T>::max()) {
      place.out_of_range<T>(from.real);
    }
    return static_cast<T>(from.real);
  }
}

template <typename T>
std::vector<T> convert_array(const MetadataValue& value, const Place& place) {
  if (value.type != ValueType::Array || !converts<T>(value.element)) {
    place.wrong_type(fmt::format("array of {}", kExpected<T>), value.type_name());
  }
  std::vector<T> out;
  out.reserve(value.count);
  for (uint64_t i = 0; i < value.count; ++i) {
    out.push_back(convert<T>(element_at(value, i), place));
  }
  return out;
}

template <typename T>
struct ElementOf {
  using Type = void;
};
template <typename T>
struct ElementOf<std::vector<T>> {
  using Type = T;
};

StringArray strings_of(const MetadataValue& value) {
  return {reinterpret_cast<const char*>(value.bytes.data()),
          reinterpret_cast<const uint32_t*>(value.offsets.data()), value.count};
}

template <typename T>
T convert_value(const MetadataValue& value, const Place& place) {
  if constexpr (std::same_as<T, std::string_view>) {
    if (value.type != ValueType::String) place.wrong_type("string", value.type_name());
    return value.text;
  } else if constexpr (std::same_as<T, StringArray>) {
    if (value.type != ValueType::Array || value.element != ValueType::String) {
      place.wrong_type("array of string", value.type_name());
    }
    return strings_of(value);
  } else if constexpr (!std::is_void_v<typename ElementOf<T>::Type>) {
    return convert_array<typename ElementOf<T>::Type>(value, place);
  } else {
    if (!converts<T>(value.type)) place.wrong_type(kExpected<T>, value.type_name());
    return convert<T>(Scalar{value.type, value.integer, value.real}, place);
  }
}

std::string scalar_text(const Scalar& value) {
  if (value.type == ValueType::Bool) return value.integer != 0 ? "true" : "false";
  if (is_real(value.type)) {
    return value.type == ValueType::F32 ? fmt::format("{}", static_cast<float>(value.real))
                                        : fmt::format("{}", value.real);
  }
  if (is_signed(value.type)) return fmt::format("{}", static_cast<int64_t>(value.integer));
  return fmt::format("{}", value.integer);
}

}  // namespace

const ValueTypeInfo* find_value_type(uint32_t id) noexcept {
  for (const ValueTypeInfo& info : kValueTypes) {
    if (static_cast<uint32_t>(info.type) == id) return &info;
  }
  return nullptr;
}

MetadataValue MetadataValue::of(bool value) {
  MetadataValue out;
  out.type = ValueType::Bool;
  out.integer = value ? 1 : 0;
  return out;
}
MetadataValue MetadataValue::of(int64_t value) {
  MetadataValue out;
  out.type = ValueType::I64;
  out.integer = static_cast<uint64_t>(value);
  return out;
}
MetadataValue MetadataValue::of(uint64_t value) {
  MetadataValue out;
  out.type = ValueType::U64;
  out.integer = value;
  return out;
}
MetadataValue MetadataValue::of(double value) {
  MetadataValue out;
  out.type = ValueType::F64;
  out.real = value;
  return out;
}
MetadataValue MetadataValue::of(std::string value) {
  MetadataValue out;
  out.type = ValueType::String;
  out.text = std::move(value);
  return out;
}

MetadataValue MetadataValue::of(std::span<const int32_t> values) {
  MetadataValue out;
  out.type = ValueType::Array;
  out.element = ValueType::I32;
  out.count = values.size();
  out.bytes = Buffer(System::real(), values.size_bytes(), "an array of metadata");
  std::copy_n(reinterpret_cast<const std::byte*>(values.data()), values.size_bytes(),
              out.bytes.data());
  return out;
}

std::string MetadataValue::type_name() const {
  if (type != ValueType::Array) return name_of(type);
  return fmt::format("array of {}", name_of(element));
}

const MetadataValue* Metadata::find_value(std::string_view key) const {
  if (watch_ != nullptr) watch_->note(key);
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &entries_[found->second].value;
}

template <MetadataType T>
T Metadata::get(std::string_view key) const {
  const MetadataValue* value = find_value(key);
  if (value == nullptr) fail(Code::Format, "{}: key {} is missing", file_name_, quoted(key));
  return convert_value<T>(*value, Place{file_name_, key});
}

template bool Metadata::get(std::string_view) const;
template int32_t Metadata::get(std::string_view) const;
template uint32_t Metadata::get(std::string_view) const;
template int64_t Metadata::get(std::string_view) const;
template uint64_t Metadata::get(std::string_view) const;
template float Metadata::get(std::string_view) const;
template double Metadata::get(std::string_view) const;
template std::string_view Metadata::get(std::string_view) const;
template StringArray Metadata::get(std::string_view) const;
template std::vector<int32_t> Metadata::get(std::string_view) const;
template std::vector<uint32_t> Metadata::get(std::string_view) const;
template std::vector<uint64_t> Metadata::get(std::string_view) const;
template std::vector<float> Metadata::get(std::string_view) const;
template std::vector<bool> Metadata::get(std::string_view) const;

std::vector<uint32_t> Metadata::get_u32_each(std::string_view key, uint64_t count) const {
  const MetadataValue* value = find_value(key);
  if (value == nullptr || value->type != ValueType::Array) {
    return std::vector<uint32_t>(count, get<uint32_t>(key));
  }
  if (value->count != count) {
    fail(Code::Format, "{}: key {}: {} values, expected {}", file_name_, quoted(key), value->count,
         count);
  }
  return get<std::vector<uint32_t>>(key);
}

void Metadata::add(std::string key, MetadataValue value) {
  const auto [where, is_new] = index_.try_emplace(key, entries_.size());
  if (!is_new) fail(Code::Format, "{}: key {} is there twice", file_name_, quoted(key));
  try {
    entries_.push_back({std::move(key), std::move(value)});
  } catch (...) {
    index_.erase(where);
    throw;
  }
}

void Metadata::set(std::string key, MetadataValue value) {
  const auto found = index_.find(key);
  if (found == index_.end()) {
    add(std::move(key), std::move(value));
  } else {
    entries_[found->second].value = std::move(value);
  }
}

std::string metadata_text(const MetadataValue& value, uint64_t max_elements) {
  if (value.type == ValueType::String) return quoted(value.text);
  if (value.type != ValueType::Array) {
    return scalar_text(Scalar{value.type, value.integer, value.real});
  }
  std::string out = "[";
  const uint64_t shown = std::min(value.count, max_elements);
  for (uint64_t i = 0; i < shown; ++i) {
    if (i > 0) out += ", ";
    out += value.element == ValueType::String ? quoted(strings_of(value)[i], 32)
                                              : scalar_text(element_at(value, i));
  }
  if (value.count > shown)
    out += fmt::format("{}... {} in all", shown > 0 ? ", " : "", value.count);
  return out + "]";
}

}  // namespace tenon
