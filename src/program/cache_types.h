// KV cache types, by their user-visible names. Backends define how values are stored
// (quant/cache_row.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/backend.h"

namespace tenon {

enum class CacheType : uint8_t { F16, F32, Int8, Q4 };

struct CacheTypeInfo {
  std::string_view name;
  uint32_t type;        ///< tenon_cache_group.type
  uint32_t bits;        ///< per value
  uint32_t head_bytes;  ///< in addition, per key and per value of a position and head
};
/// Indexed by CacheType.
inline constexpr CacheTypeInfo kCacheTypes[] = {
    {"f16", TENON_TYPE_F16, 16, 0},
    {"f32", TENON_TYPE_F32, 32, 0},
    {"int8", TENON_CACHE_INT8, 8, 2},
    {"q4", TENON_CACHE_Q4, 4, 2},
};

constexpr const CacheTypeInfo& info_of(CacheType type) {
  return kCacheTypes[static_cast<size_t>(type)];
}

/// Null for unknown types.
constexpr const CacheTypeInfo* find_cache_type(uint32_t type) {
  for (const CacheTypeInfo& info : kCacheTypes) {
    if (info.type == type) return &info;
  }
  return nullptr;
}

/// All names, joined by `separator`.
inline std::string cache_type_names(std::string_view separator) {
  std::string names;
  for (const CacheTypeInfo& info : kCacheTypes) {
    if (!names.empty()) names += separator;
    names += info.name;
  }
  return names;
}

}  // namespace tenon
