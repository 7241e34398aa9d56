// Embeddings of a token per layer (Gemma 3n, Gemma 4).
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// A part of ModelSpec::specs.
struct LayerEmbeddingSpec {
  uint32_t columns = 0;  ///< values of a token's embedding per layer

  /// The table has as many columns for all layers.
  [[nodiscard]] bool refers() const { return true; }
};

/// Embeddings for all layers, concatenated, [T, layers * columns]: the mean of the token's
/// row in their table and a projection of its embedding x [T, width].
Slot layer_embeddings(BuildContext& context, Slot x);

/// post_norm(proj(gelu(inp_gate x) u)), where u [., columns] is the layer's embedding of
/// the token.
///   x [., width], all from layer_embeddings() -> [., width]
Slot layer_embedding_branch(BuildContext& context, uint32_t layer, Slot x, Slot all);

}  // namespace tenon
