// Conversion of texts, buffers and growing structs across the C interface, in both directions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "host_struct.h"
#include "tenon/tenon.h"

namespace tenon::capi {

/// Converts a host's text. Throws Argument naming the parameter if it is NULL but not empty.
inline std::string_view text_in(const char* text, uint64_t length, const char* parameter) {
  if (text == nullptr) {
    if (length == 0) return {};
    fail(Code::Argument, "{} is NULL", parameter);
  }
  return length == TENON_NUL_TERMINATED ? std::string_view(text) : std::string_view(text, length);
}

/// Converts a host's NUL-terminated name. Throws Argument naming the parameter if it is NULL.
inline std::string_view name_in(const char* name, const char* parameter) {
  if (name == nullptr) fail(Code::Argument, "{} is NULL", parameter);
  return name;
}

/// Converts a host's array. Throws Argument naming the parameter if it is NULL but not empty.
template <typename T>
std::span<const T> array_in(const T* data, size_t count, const char* parameter) {
  if (data == nullptr && count != 0) fail(Code::Argument, "{} is NULL", parameter);
  if (count > SIZE_MAX / 2 / sizeof(T)) {  // NOLINT(bugprone-sizeof-expression): T may be a pointer
    fail(Code::Argument, "{}: {} elements do not fit the address space", parameter, count);
  }
  return {data, count};
}

/// Variant for an array to fill.
template <typename T>
std::span<T> array_out(T* data, size_t count, const char* parameter) {
  const std::span<const T> checked = array_in(static_cast<const T*>(data), count, parameter);
  return {data, checked.size()};
}

/// Throws Argument for flags that are not in `known`.
inline void check_flags(uint32_t flags, uint32_t known) {
  if ((flags & ~known) != 0) fail(Code::Argument, "flags {:#x} are unknown", flags & ~known);
}

/// Copies a result into a host's buffer if it fits. Sets `needed` to the required size.
template <typename T>
void fill_buffer(std::span<const T> result, T* buffer, size_t capacity, size_t* needed) {
  if (needed == nullptr) fail(Code::Argument, "the place for the needed size is NULL");
  if (buffer == nullptr && capacity != 0) {
    fail(Code::Argument, "the buffer is NULL but its capacity is {}", capacity);
  }
  if (result.size() <= capacity && !result.empty()) {
    std::memcpy(buffer, result.data(), result.size_bytes());
  }
  *needed = result.size();
}

/// Converts a host's duration. Throws Argument naming it if it is negative or beyond 30 years.
inline uint64_t nanoseconds(double seconds, const char* what) {
  constexpr double kMaxSeconds = 1e9;
  // Comparison order that rejects NaN.
  if (!(seconds >= 0 && seconds <= kMaxSeconds)) {
    fail(Code::Argument, "{} is {}, not in 0..{}", what, seconds, kMaxSeconds);
  }
  return static_cast<uint64_t>(seconds * 1e9);
}

/// host_struct.h with the rooms' errors.
template <typename T>
uint32_t checked_struct_size(const T* given, const char* type) {
  return host_struct_size(given, type, kRefuse<Error>);
}

template <typename T>
T struct_in(const T* given, const char* type) {
  return host_struct_in(given, type, kRefuse<Error>);
}

template <typename T>
void struct_out(T value, T* out, const char* type) {
  host_struct_out(value, out, type, kRefuse<Error>);
}

}  // namespace tenon::capi
