// Compatibility of structures with programs built against an older or newer header, for every
// library with a C interface. A structure begins with its struct_size and grows only at its end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "tenon/tenon.h"

namespace tenon::capi {

/// Valid range of struct_size: the first word alone is no structure, and a large value is garbage.
inline constexpr uint32_t kMinStructSize = 8;
inline constexpr uint32_t kMaxStructSize = 4096;

/// Throws the library's exception, whose code() has the values of tenon_status: the `refuse` of the
/// functions below.
template <typename Error>
inline constexpr auto kRefuse = [](tenon_status status, const std::string& message) {
  throw Error(static_cast<decltype(std::declval<const Error&>().code())>(status), message);
};

/// struct_size of a host's structure. Reports ARGUMENT, naming `type`, for NULL and invalid sizes.
///   refuse  (status, message) throws
template <typename T, typename Refuse>
uint32_t host_struct_size(const T* given, const char* type, const Refuse& refuse) {
  const std::string name = type;
  if (given == nullptr) refuse(TENON_ERROR_ARGUMENT, name + " is NULL");
  const uint32_t size = given->struct_size;
  if (size < kMinStructSize || size > kMaxStructSize) {
    refuse(TENON_ERROR_ARGUMENT, name + ".struct_size is " + std::to_string(size) + ", not in " +
                                     std::to_string(kMinStructSize) + ".." +
                                     std::to_string(kMaxStructSize) + "; set it to sizeof(" + name +
                                     ")");
  }
  return size;
}

/// Copies a host's structure into this version's. Members missing in an older structure become
/// zero. Unknown members of a newer structure must be zero, else reports UNSUPPORTED.
template <typename T, typename Refuse>
T host_struct_in(const T* given, const char* type, const Refuse& refuse) {
  static_assert(std::is_trivially_copyable_v<T>);
  const uint32_t size = host_struct_size(given, type, refuse);
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (uint32_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != 0) {
      refuse(TENON_ERROR_UNSUPPORTED, std::string(type) + " sets a field at byte " +
                                          std::to_string(i) + " that this version (" +
                                          std::to_string(sizeof(T)) + " bytes) lacks");
    }
  }
  T known{};
  std::memcpy(&known, given, std::min<size_t>(size, sizeof(T)));
  return known;
}

/// Writes a structure to a host, as far as the host's version has its members.
template <typename T, typename Refuse>
void host_struct_out(T value, T* out, const char* type, const Refuse& refuse) {
  const uint32_t size = host_struct_size(out, type, refuse);
  value.struct_size = size;
  std::memcpy(out, &value, std::min<size_t>(size, sizeof(T)));
}

}  // namespace tenon::capi
