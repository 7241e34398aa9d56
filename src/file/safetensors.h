// The reader of one safetensors file: header and tensor directory. Files that belong together are
// joined in tensor_folder.h.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_source.h"
#include "base/system.h"

namespace tenon {

// clang-format off
/// Types of elements: enumerator, name in files, bits.
#define TENON_ELEMENT_TYPES(X)                                                              \
  X(Bool, "BOOL", 8) X(U8, "U8", 8) X(I8, "I8", 8) X(I16, "I16", 16) X(U16, "U16", 16)      \
  X(I32, "I32", 32) X(U32, "U32", 32) X(I64, "I64", 64) X(U64, "U64", 64)                   \
  X(F16, "F16", 16) X(BF16, "BF16", 16) X(F32, "F32", 32) X(F64, "F64", 64)                 \
  X(C64, "C64", 64) X(E4M3, "F8_E4M3", 8) X(E5M2, "F8_E5M2", 8) X(E8M0, "F8_E8M0", 8)       \
  X(E4M3FNUZ, "F8_E4M3FNUZ", 8) X(E5M2FNUZ, "F8_E5M2FNUZ", 8)                               \
  X(E2M1, "F4", 4) X(E2M3, "F6_E2M3", 6) X(E3M2, "F6_E3M2", 6)
// clang-format on

enum class ElementType : uint8_t {
#define TENON_ELEMENT(enumerator, name, bits) enumerator,
  TENON_ELEMENT_TYPES(TENON_ELEMENT)
#undef TENON_ELEMENT
};

struct ElementTypeInfo {
  ElementType id;
  std::string_view name;  ///< as files have it
  uint32_t bits;
};
const ElementTypeInfo& info_of(ElementType type) noexcept;

inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;  // by the specification
/// Far above every model there is; bound the memory that a hostile file can ask for.
inline constexpr uint64_t kMaxSafetensorsTensors = 1'000'000;
inline constexpr uint64_t kMaxSafetensorsNameBytes = 1024;
inline constexpr uint32_t kMaxStoredRank = 8;

/// Place and type of a tensor. The sizes fit together and the bytes lie inside the file.
struct StoredTensor {
  std::string name;
  ElementType type = ElementType::F32;
  uint32_t rank = 0;                             ///< 0..kMaxStoredRank
  std::array<uint64_t, kMaxStoredRank> shape{};  ///< [0..rank) outermost first; may hold 0
  uint64_t bytes = 0;
  uint32_t source = 0;  ///< which of the folder's files
  uint64_t offset = 0;  ///< in that file; any address

  [[nodiscard]] uint64_t num_values() const;
  /// The extent of dimension i; 1 beyond the rank.
  [[nodiscard]] uint64_t dim(uint32_t i) const { return i < rank ? shape[i] : 1; }
  /// "[2048, 512] BF16".
  [[nodiscard]] std::string text() const;
};

struct SafetensorsContents {
  std::vector<StoredTensor> tensors;                          ///< in the order of their bytes
  std::vector<std::pair<std::string, std::string>> metadata;  ///< "__metadata__"
  uint64_t header_bytes = 0;                                  ///< where the tensors begin
};

/// Reads the header. The tensors cover the bytes after it without holes or overlaps. Throws Format
/// for a malformed or truncated file, Unsupported for an unknown type of elements, Limit beyond the
/// limits, Io when reading fails; the message names the source and the place.
SafetensorsContents read_safetensors(const ByteSource& source,
                                     const std::shared_ptr<System>& system);

}  // namespace tenon
