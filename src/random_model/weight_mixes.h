// The weight formats of random models by the names of published mixes, as data: which tensor of which
// layer is in which format. The numbers of a model are in random_shapes.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "quant/formats.h"

namespace tenon {

/// Which layers a rule is for. With n layers, "more bits" are the first and the last eighth and
/// every third between them.
enum class MixLayers : uint8_t { All, MoreBits, FirstEighth, FirstSixteenth, FirstFour, FirstTwo };

/// One tensor of some layers in another format than the rest.
struct MixRule {
  std::string_view tensor;  ///< "attn_v"
  MixLayers layers;
  Format format;
};

/// A named mix: the format of the matrices, and what departs from it. The first rule that fits
/// holds. The mixes are those of llama.cpp's llama-quantize.
struct WeightMix {
  const char* name;
  Format format;
  uint32_t file_type;  ///< general.file_type
  std::span<const MixRule> rules;
};

std::span<const WeightMix> weight_mixes() noexcept;

/// A mix by its name or, with no rules, a weight format by its own; case does not matter. Throws
/// Argument naming the nearest.
WeightMix find_weight_mix(std::string_view name);

/// The format of tensor `name` of layer `layer` of `layers` with rows of `columns` values. Where
/// the blocks do not fit the row, it is the small-block format of about the same size.
Format layer_format(const WeightMix& mix, std::string_view name, uint32_t layer, uint32_t layers,
                    uint64_t columns);
/// The format of the output matrix (and of an embedding that serves as one).
Format output_format(const WeightMix& mix, uint64_t columns);
/// `format`, or what stands in for it where rows of `columns` values are not whole blocks.
Format fitting_format(Format format, uint64_t columns);

}  // namespace tenon
