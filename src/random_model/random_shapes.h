// Dimensions of random models, as data: those of published models, without weights. random_model.h
// writes models, quantize/file_types.h has formats of weights.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "arch/architecture.h"

namespace tenon {

/// Dimensions of a decoder; the architecture determines its tensors. Shapes are those of published
/// models, except some for tests (`tiny`, `tiny-moe` and a `tiny-NAME` per architecture),
/// `moe-1b-a300m`, a mixture of experts of the size of llama-1b, and `gemma3n-200m`, two thirds of
/// which are the table of layers' embeddings.
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
  bool tied;  ///< the output uses the embedding
  /// Keys of the architecture; they override the dimensions above.
  std::span<const KeyValue> keys{};
  bool is_example = false;  ///< includes the keys of Architecture::example
  /// Optional tensors of the architecture that the published model has, by the ends of their names.
  std::span<const std::string_view> optional{};
};

std::span<const RandomShape> random_shapes() noexcept;

/// A shape and the number of layers to use.
struct ChosenShape {
  const RandomShape& shape;
  uint32_t layers;  ///< 1..shape.layers
};

/// Finds "llama-8b", or "llama-8b:4" for its first 4 layers. Throws Argument with the nearest name,
/// or the number of layers.
ChosenShape find_random_shape(std::string_view text);

}  // namespace tenon
