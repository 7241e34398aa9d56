// Weight formats of random models by the names of published mixes, as data: the format of each
// tensor per layer. random_shapes.h has the dimensions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "quant/formats.h"

namespace tenon {

/// Layers to which a rule applies. With n layers, "more bits" are the first and the last eighth,
/// and every third layer between.
enum class MixLayers : uint8_t { All, MoreBits, FirstEighth, FirstSixteenth, FirstFour, FirstTwo };

/// An exception to the mix's format, for one tensor in some layers.
struct MixRule {
  std::string_view tensor;  ///< "attn_v"
  MixLayers layers;
  Format format;
};

/// A named mix: the format of the matrices, and exceptions. The first matching rule applies. Mixes
/// are those of llama.cpp's llama-quantize.
struct WeightMix {
  const char* name;
  Format format;
  uint32_t file_type;  ///< general.file_type
  std::span<const MixRule> rules;
};

std::span<const WeightMix> weight_mixes() noexcept;

/// Finds a mix by name, or a weight format (as a mix without rules); ignores case. Throws Argument
/// with the nearest name.
WeightMix find_weight_mix(std::string_view name);

/// Format of tensor `name` in layer `layer` of `layers` with rows of `columns` values. If blocks do
/// not fit the row, a small-block format of about the same size.
Format layer_format(const WeightMix& mix, std::string_view name, uint32_t layer, uint32_t layers,
                    uint64_t columns);
/// Format of the output matrix (and of an embedding used as such).
Format output_format(const WeightMix& mix, uint64_t columns);
/// Returns `format`, or its replacement if rows of `columns` values are not whole blocks.
Format fitting_format(Format format, uint64_t columns);

}  // namespace tenon
