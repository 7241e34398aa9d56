// The shapes and the weight formats of random models, as data: what is known of published models
// without their weights. Writing one is in random_model.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "arch/architecture.h"
#include "quant/formats.h"

namespace tenon {

/// The numbers of a decoder; what tensors it has follows from its architecture. The shapes are
/// those of published models, but for `tiny`, `tiny-moe` and a `tiny-NAME` of every architecture,
/// which are for tests, `moe-1b-a300m`, a mixture of experts of the size of llama-1b, and
/// `gemma3n-200m`, whose table of layers' embeddings holds two thirds of it.
struct RandomShape {
  const char* name;
  const char* architecture;  ///< general.architecture
  uint32_t layers;
  uint32_t width;
  uint32_t heads;
  uint32_t kv_heads;
  uint32_t head_dim;
  uint32_t feed_forward;
  uint32_t vocab;
  uint32_t context;
  float rope_theta;
  bool tied;                         ///< the output uses the embedding
  std::span<const KeyValue> keys{};  ///< of its architecture; they win over the numbers above
  bool is_example = false;           ///< has the keys of Architecture::example, too
};

std::span<const RandomShape> random_shapes() noexcept;

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
/// Throws Argument naming the nearest.
const RandomShape& find_random_shape(std::string_view name);

/// The format of tensor `name` of layer `layer` of `layers` with rows of `columns` values. Where
/// the blocks do not fit the row, it is the small-block format of about the same size.
Format layer_format(const WeightMix& mix, std::string_view name, uint32_t layer, uint32_t layers,
                    uint64_t columns);
/// The format of the output matrix (and of an embedding that serves as one).
Format output_format(const WeightMix& mix, uint64_t columns);
/// `format`, or what stands in for it where rows of `columns` values are not whole blocks.
Format fitting_format(Format format, uint64_t columns);

}  // namespace tenon
