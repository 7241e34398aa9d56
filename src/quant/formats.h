// The one table of tensor formats, keyed by GGUF type id: names, block sizes, row codecs. The
// layouts and formulas themselves live in one header per format beside this one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tenon {

/// Tensor formats; the values are the type ids of GGUF files (ids 4, 5, 31..33, 36..38 were removed
/// from the specification and are unknown here).
enum class Format : uint32_t {
  F32 = 0,
  F16 = 1,
  Q4_0 = 2,
  Q4_1 = 3,
  Q5_0 = 6,
  Q5_1 = 7,
  Q8_0 = 8,
  Q2_K = 10,
  Q3_K = 11,
  Q4_K = 12,
  Q5_K = 13,
  Q6_K = 14,
  IQ2_XXS = 16,
  IQ2_XS = 17,
  IQ3_XXS = 18,
  IQ1_S = 19,
  IQ4_NL = 20,
  IQ3_S = 21,
  IQ2_S = 22,
  IQ4_XS = 23,
  I8 = 24,
  I16 = 25,
  I32 = 26,
  I64 = 27,
  F64 = 28,
  IQ1_M = 29,
  BF16 = 30,
  TQ1_0 = 34,
  TQ2_0 = 35,
  MXFP4 = 39,
  NVFP4 = 40,
  Q1_0 = 41,
  Q2_0 = 42,
};

/// Decodes `values` values (a multiple of block_values) that start at `blocks` (any alignment) into
/// out [values] f32. Touches nothing else; disjoint calls may run in parallel.
using DecodeRow = void (*)(const void* blocks, float* out, uint64_t values) noexcept;

/// Encodes in [values] f32 (values a multiple of block_values, all finite) into `blocks`.
using EncodeRow = void (*)(const float* in, void* blocks, uint64_t values) noexcept;

/// What there is to know about a format without knowing its layout.
struct FormatInfo {
  Format id;
  const char* name;       ///< as written in file names and messages: "q4_K"
  uint32_t block_values;  ///< values per block; rows are whole blocks
  uint32_t block_bytes;   ///< bytes per block
  DecodeRow decode_row;   ///< nullptr for storage-only types
  EncodeRow encode_row;   ///< nullptr where there is no encoder
  bool weight;            ///< usable as a weight of a model
};

inline constexpr FormatInfo kFormats[] = {
    {Format::F32, "f32", 1, 4, nullptr, nullptr, true},
    {Format::F16, "f16", 1, 2, nullptr, nullptr, true},
    {Format::BF16, "bf16", 1, 2, nullptr, nullptr, true},
    {Format::Q4_0, "q4_0", 32, 18, nullptr, nullptr, true},
    {Format::Q4_1, "q4_1", 32, 20, nullptr, nullptr, true},
    {Format::Q5_0, "q5_0", 32, 22, nullptr, nullptr, true},
    {Format::Q5_1, "q5_1", 32, 24, nullptr, nullptr, true},
    {Format::Q8_0, "q8_0", 32, 34, nullptr, nullptr, true},
    {Format::Q2_K, "q2_K", 256, 84, nullptr, nullptr, true},
    {Format::Q3_K, "q3_K", 256, 110, nullptr, nullptr, true},
    {Format::Q4_K, "q4_K", 256, 144, nullptr, nullptr, true},
    {Format::Q5_K, "q5_K", 256, 176, nullptr, nullptr, true},
    {Format::Q6_K, "q6_K", 256, 210, nullptr, nullptr, true},
    {Format::IQ2_XXS, "iq2_xxs", 256, 66, nullptr, nullptr, true},
    {Format::IQ2_XS, "iq2_xs", 256, 74, nullptr, nullptr, true},
    {Format::IQ3_XXS, "iq3_xxs", 256, 98, nullptr, nullptr, true},
    {Format::IQ1_S, "iq1_s", 256, 50, nullptr, nullptr, true},
    {Format::IQ4_NL, "iq4_nl", 32, 18, nullptr, nullptr, true},
    {Format::IQ3_S, "iq3_s", 256, 110, nullptr, nullptr, true},
    {Format::IQ2_S, "iq2_s", 256, 82, nullptr, nullptr, true},
    {Format::IQ4_XS, "iq4_xs", 256, 136, nullptr, nullptr, true},
    {Format::IQ1_M, "iq1_m", 256, 56, nullptr, nullptr, true},
    {Format::TQ1_0, "tq1_0", 256, 54, nullptr, nullptr, true},
    {Format::TQ2_0, "tq2_0", 256, 66, nullptr, nullptr, true},
    {Format::MXFP4, "mxfp4", 32, 17, nullptr, nullptr, true},
    {Format::NVFP4, "nvfp4", 64, 36, nullptr, nullptr, true},
    {Format::Q1_0, "q1_0", 128, 18, nullptr, nullptr, true},
    {Format::Q2_0, "q2_0", 64, 18, nullptr, nullptr, true},
    // Types that files may hold but that are not weights.
    {Format::I8, "i8", 1, 1, nullptr, nullptr, false},
    {Format::I16, "i16", 1, 2, nullptr, nullptr, false},
    {Format::I32, "i32", 1, 4, nullptr, nullptr, false},
    {Format::I64, "i64", 1, 8, nullptr, nullptr, false},
    {Format::F64, "f64", 1, 8, nullptr, nullptr, false},
};

/// The format with this GGUF type id; nullptr when there is none.
constexpr const FormatInfo* find_format(uint32_t gguf_id) noexcept {
  for (const FormatInfo& info : kFormats) {
    if (static_cast<uint32_t>(info.id) == gguf_id) return &info;
  }
  return nullptr;
}

/// The entry of a format.
constexpr const FormatInfo* find_format(Format format) noexcept {
  return find_format(static_cast<uint32_t>(format));
}

/// The format of this name, upper and lower case alike; nullptr when there is none.
constexpr const FormatInfo* find_format(std::string_view name) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  for (const FormatInfo& info : kFormats) {
    const std::string_view own = info.name;
    bool same = own.size() == name.size();
    for (size_t i = 0; same && i < own.size(); ++i) same = lower(own[i]) == lower(name[i]);
    if (same) return &info;
  }
  return nullptr;
}

/// Bytes of a row of `values` values; nothing when it is not whole blocks or overflows 64 bits.
constexpr std::optional<uint64_t> row_bytes(const FormatInfo& info, uint64_t values) noexcept {
  if (values % info.block_values != 0) return std::nullopt;
  const uint64_t blocks = values / info.block_values;
  if (blocks > UINT64_MAX / info.block_bytes) return std::nullopt;
  return blocks * info.block_bytes;
}

}  // namespace tenon
