// The one table of tensor formats, keyed by GGUF type id: names, block sizes, row codecs. Layouts
// and formulas are in one header per format; formats.cpp compiles their codecs once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "quant/bf16.h"
#include "quant/code_groups.h"
#include "quant/f16.h"
#include "quant/f32.h"
#include "quant/iq1_m.h"
#include "quant/iq1_s.h"
#include "quant/iq2_s.h"
#include "quant/iq2_xs.h"
#include "quant/iq2_xxs.h"
#include "quant/iq3_s.h"
#include "quant/iq3_xxs.h"
#include "quant/iq4_nl.h"
#include "quant/iq4_xs.h"
#include "quant/isa.h"
#include "quant/mxfp4.h"
#include "quant/nvfp4.h"
#include "quant/q1_0.h"
#include "quant/q2_0.h"
#include "quant/q2_k.h"
#include "quant/q3_k.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q4_k.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"
#include "quant/q8_0.h"
#include "quant/tq1_0.h"
#include "quant/tq2_0.h"

namespace tenon {

// clang-format off
/// Every format for weights: enumerator, GGUF type id, name, block struct. A new format needs its
/// header and a line here. A macro, because it makes both the enumerator and the table entry.
#define TENON_WEIGHT_FORMATS(X) \
  X(F32, 0, "f32", BlockF32)              \
  X(F16, 1, "f16", BlockF16)              \
  X(Q4_0, 2, "q4_0", BlockQ4_0)           \
  X(Q4_1, 3, "q4_1", BlockQ4_1)           \
  X(Q5_0, 6, "q5_0", BlockQ5_0)           \
  X(Q5_1, 7, "q5_1", BlockQ5_1)           \
  X(Q8_0, 8, "q8_0", BlockQ8_0)           \
  X(Q2_K, 10, "q2_K", BlockQ2_K)          \
  X(Q3_K, 11, "q3_K", BlockQ3_K)          \
  X(Q4_K, 12, "q4_K", BlockQ4_K)          \
  X(Q5_K, 13, "q5_K", BlockQ5_K)          \
  X(Q6_K, 14, "q6_K", BlockQ6_K)          \
  X(IQ2_XXS, 16, "iq2_xxs", BlockIQ2_XXS) \
  X(IQ2_XS, 17, "iq2_xs", BlockIQ2_XS)    \
  X(IQ3_XXS, 18, "iq3_xxs", BlockIQ3_XXS) \
  X(IQ1_S, 19, "iq1_s", BlockIQ1_S)       \
  X(IQ4_NL, 20, "iq4_nl", BlockIQ4_NL)    \
  X(IQ3_S, 21, "iq3_s", BlockIQ3_S)       \
  X(IQ2_S, 22, "iq2_s", BlockIQ2_S)       \
  X(IQ4_XS, 23, "iq4_xs", BlockIQ4_XS)    \
  X(IQ1_M, 29, "iq1_m", BlockIQ1_M)       \
  X(BF16, 30, "bf16", BlockBF16)          \
  X(TQ1_0, 34, "tq1_0", BlockTQ1_0)       \
  X(TQ2_0, 35, "tq2_0", BlockTQ2_0)       \
  X(MXFP4, 39, "mxfp4", BlockMXFP4)       \
  X(NVFP4, 40, "nvfp4", BlockNVFP4)       \
  X(Q1_0, 41, "q1_0", BlockQ1_0)          \
  X(Q2_0, 42, "q2_0", BlockQ2_0)

/// Formats for weights in memory, of which no file knows: folders of other programs become them.
/// Their ids are outside GGUF's.
#define TENON_MEMORY_FORMATS(X) \
  X(U4G32, 1024, "u4g32", BlockU4G32)    \
  X(U4G64, 1025, "u4g64", BlockU4G64)    \
  X(U4G128, 1026, "u4g128", BlockU4G128) \
  X(U8G32, 1027, "u8g32", BlockU8G32)    \
  X(U4P32, 1028, "u4p32", BlockU4P32)    \
  X(U4P64, 1029, "u4p64", BlockU4P64)    \
  X(U8P32, 1030, "u8p32", BlockU8P32)    \
  X(F8G32, 1031, "f8g32", BlockF8G32)    \
  X(F8G128, 1032, "f8g128", BlockF8G128)

/// Other types in files, not for weights: enumerator, GGUF type id, name, bytes.
#define TENON_STORAGE_FORMATS(X) \
  X(I8, 24, "i8", 1)   \
  X(I16, 25, "i16", 2) \
  X(I32, 26, "i32", 4) \
  X(I64, 27, "i64", 8) \
  X(F64, 28, "f64", 8)
// clang-format on

/// Tensor formats; the values below 1024 are the type ids of GGUF files (4, 5, 31..33 and 36..38
/// were removed from the specification and are unknown here).
enum class Format : uint32_t {
#define TENON_ENUMERATOR(enumerator, id, name, detail) enumerator = id,
  TENON_WEIGHT_FORMATS(TENON_ENUMERATOR) TENON_MEMORY_FORMATS(TENON_ENUMERATOR)
      TENON_STORAGE_FORMATS(TENON_ENUMERATOR)
#undef TENON_ENUMERATOR
};

/// Decodes `values` values (a multiple of block_values) from `blocks` (any alignment) to out
/// [values] f32. Touches nothing else, so disjoint calls may run in parallel.
using DecodeRow = void (*)(const void* blocks, float* out, uint64_t values) noexcept;

/// Encodes in [values] f32 (values a multiple of block_values, all finite) into `blocks`.
using EncodeRow = void (*)(const float* in, void* blocks, uint64_t values) noexcept;

/// Whether a format is one of memory alone.
constexpr bool is_memory_format(Format format) noexcept {
  return static_cast<uint32_t>(format) >= 1024;
}

/// Properties of a format, without its layout.
struct FormatInfo {
  Format id;
  const char* name;       ///< spelling in file names and messages: "q4_K"
  uint32_t block_values;  ///< values per block; rows are whole blocks
  uint32_t block_bytes;   ///< bytes per block
  DecodeRow decode_row;   ///< nullptr for storage-only types
  EncodeRow encode_row;   ///< nullptr without an encoder
  bool weight;            ///< usable as a weight of a model
};

#define TENON_COUNT(...) +1
/// All formats, in the order of the lists.
extern const FormatInfo kFormats[TENON_WEIGHT_FORMATS(TENON_COUNT) TENON_MEMORY_FORMATS(TENON_COUNT)
                                     TENON_STORAGE_FORMATS(TENON_COUNT)];
#undef TENON_COUNT

/// The format with this GGUF type id; nullptr if unknown.
const FormatInfo* find_format(uint32_t gguf_id) noexcept;
const FormatInfo* find_format(Format format) noexcept;

/// The format with this name, in upper or lower case; nullptr if unknown.
const FormatInfo* find_format(std::string_view name) noexcept;

inline namespace TENON_QUANT_ISA {

/// Bytes of a row of `values` values; nothing if `values` is no multiple of the block size, or on
/// overflow of 64 bits.
constexpr std::optional<uint64_t> row_bytes(const FormatInfo& info, uint64_t values) noexcept {
  if (values % info.block_values != 0) return std::nullopt;
  const uint64_t blocks = values / info.block_values;
  if (blocks > UINT64_MAX / info.block_bytes) return std::nullopt;
  return blocks * info.block_bytes;
}

}  // namespace TENON_QUANT_ISA

}  // namespace tenon
