// The numbers of random models, as data: what is known of published models without their weights.
// Writing one is in random_model.h, the formats of its weights in weight_mixes.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "arch/architecture.h"

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
  /// Of the tensors that files of the architecture may lack those, by the ends of their names, that the
  /// published model has.
  std::span<const std::string_view> optional{};
};

std::span<const RandomShape> random_shapes() noexcept;

/// A shape, and how many of its layers a model has.
struct ChosenShape {
  const RandomShape& shape;
  uint32_t layers;  ///< 1..shape.layers
};

/// "llama-8b", or "llama-8b:4" for its first 4 layers. Throws Argument naming the nearest name, or
/// how many layers there are.
ChosenShape find_random_shape(std::string_view text);

}  // namespace tenon
