#include "random_model/weight_mixes.h"

#include <array>
#include <utility>

#include "base/error.h"
#include "base/nearest_name.h"

namespace tenon {
namespace {

// clang-format off
constexpr MixRule kQ3KM[] = {{"attn_v", MixLayers::FirstTwo, Format::Q5_K},
                             {"attn_v", MixLayers::All, Format::Q4_K},
                             {"attn_output", MixLayers::All, Format::Q4_K},
                             {"ffn_down", MixLayers::FirstSixteenth, Format::Q5_K},
                             {"ffn_down", MixLayers::All, Format::Q4_K}};
constexpr MixRule kQ3KL[] = {{"attn_v", MixLayers::All, Format::Q5_K},
                             {"attn_output", MixLayers::All, Format::Q5_K},
                             {"ffn_down", MixLayers::All, Format::Q5_K}};
constexpr MixRule kQ4KS[] = {{"attn_v", MixLayers::FirstFour, Format::Q5_K},
                             {"ffn_down", MixLayers::FirstEighth, Format::Q5_K}};
constexpr MixRule kExperts[] = {{"ffn_gate", MixLayers::All, Format::MXFP4},
                                {"ffn_up", MixLayers::All, Format::MXFP4},
                                {"ffn_down", MixLayers::All, Format::MXFP4}};
constexpr MixRule kMedium[] = {{"attn_v", MixLayers::MoreBits, Format::Q6_K},
                               {"ffn_down", MixLayers::MoreBits, Format::Q6_K}};

constexpr std::array kMixes = {
    WeightMix{"Q3_K_S", Format::Q3_K, 11, {}},
    WeightMix{"Q3_K_M", Format::Q3_K, 12, kQ3KM},
    WeightMix{"Q3_K_L", Format::Q3_K, 13, kQ3KL},
    WeightMix{"Q4_K_S", Format::Q4_K, 14, kQ4KS},
    WeightMix{"Q4_K_M", Format::Q4_K, 15, kMedium},
    WeightMix{"Q5_K_S", Format::Q5_K, 16, {}},
    WeightMix{"Q5_K_M", Format::Q5_K, 17, kMedium},
    WeightMix{"MXFP4_MOE", Format::Q8_0, 38, kExperts},
};

/// general.file_type of files in one format; for users. Other formats get no key.
constexpr std::pair<Format, uint32_t> kFileTypes[] = {
    {Format::F32, 0},      {Format::F16, 1},      {Format::Q4_0, 2},    {Format::Q4_1, 3},
    {Format::Q8_0, 7},     {Format::Q5_0, 8},     {Format::Q5_1, 9},    {Format::Q2_K, 21},
    {Format::Q3_K, 11},    {Format::Q4_K, 14},    {Format::Q5_K, 16},   {Format::Q6_K, 18},
    {Format::IQ2_XXS, 19}, {Format::IQ2_XS, 20},  {Format::IQ3_XXS, 23}, {Format::IQ1_S, 24},
    {Format::IQ4_NL, 25},  {Format::IQ3_S, 26},   {Format::IQ2_S, 28},  {Format::IQ4_XS, 30},
    {Format::IQ1_M, 31},   {Format::BF16, 32},    {Format::TQ1_0, 36},  {Format::TQ2_0, 37},
    {Format::MXFP4, 38},   {Format::NVFP4, 39},   {Format::Q1_0, 40},   {Format::Q2_0, 41},
};

/// Format of the output matrix by that of the rest: these keep it or use the given one, all others
/// use q6_K.
constexpr std::pair<Format, Format> kOutputs[] = {
    {Format::F32, Format::F32},      {Format::F16, Format::F16},     {Format::BF16, Format::BF16},
    {Format::Q8_0, Format::Q8_0},    {Format::IQ1_S, Format::Q5_K},  {Format::IQ1_M, Format::Q5_K},
    {Format::IQ2_XXS, Format::Q5_K}, {Format::IQ2_XS, Format::Q5_K}, {Format::IQ2_S, Format::Q5_K},
    {Format::IQ3_XXS, Format::Q5_K},
};

/// Replacement of a large-block format for rows that its blocks do not fit.
constexpr std::pair<Format, Format> kStandIns[] = {
    {Format::Q4_K, Format::Q5_0},   {Format::Q5_K, Format::Q5_1},  {Format::Q6_K, Format::Q8_0},
    {Format::Q2_K, Format::Q4_0},   {Format::Q3_K, Format::Q4_0},  {Format::TQ1_0, Format::Q4_0},
    {Format::TQ2_0, Format::Q4_0},
};
// clang-format on

bool in_layers(MixLayers which, uint32_t layer, uint32_t layers) {
  switch (which) {
    case MixLayers::All:
      return true;
    case MixLayers::MoreBits:
      return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
    case MixLayers::FirstEighth:
      return layer < layers / 8;
    case MixLayers::FirstSixteenth:
      return layer < layers / 16;
    case MixLayers::FirstFour:
      return layer < 4;
    case MixLayers::FirstTwo:
      return layer < 2;
  }
  return false;
}

bool fits(Format format, uint64_t columns) {
  return columns % find_format(format)->block_values == 0;
}

}  // namespace

std::span<const WeightMix> weight_mixes() noexcept { return kMixes; }

WeightMix find_weight_mix(std::string_view name) {
  NearestName nearest(name);
  for (const WeightMix& mix : kMixes) {
    if (equal_but_for_case(mix.name, name)) return mix;
    nearest.consider(mix.name);
  }
  for (const FormatInfo& info : kFormats) {
    if (!info.weight || is_memory_format(info.id)) continue;
    nearest.consider(info.name);
    if (!equal_but_for_case(info.name, name)) continue;
    if (info.encode_row == nullptr) {
      fail(Code::Unsupported, "weight format \"{}\" has no encoder", info.name);
    }
    uint32_t file_type = UINT32_MAX;
    for (const auto& [format, type] : kFileTypes) {
      if (format == info.id) file_type = type;
    }
    return {info.name, info.id, file_type, {}};
  }
  fail(Code::Argument, "no weight format \"{}\"{}", nearest.name(), nearest.hint());
}

Format fitting_format(Format format, uint64_t columns) {
  if (fits(format, columns)) return format;
  for (const auto& [wanted, stand_in] : kStandIns) {
    if (wanted == format && fits(stand_in, columns)) return stand_in;
  }
  return fits(Format::IQ4_NL, columns) ? Format::IQ4_NL : Format::F16;
}

Format layer_format(const WeightMix& mix, std::string_view name, uint32_t layer, uint32_t layers,
                    uint64_t columns) {
  for (const MixRule& rule : mix.rules) {
    if (rule.tensor == name && in_layers(rule.layers, layer, layers)) {
      return fitting_format(rule.format, columns);
    }
  }
  return fitting_format(mix.format, columns);
}

Format output_format(const WeightMix& mix, uint64_t columns) {
  for (const auto& [format, output] : kOutputs) {
    if (format == mix.format) return fitting_format(output, columns);
  }
  return fitting_format(Format::Q6_K, columns);
}

}  // namespace tenon
