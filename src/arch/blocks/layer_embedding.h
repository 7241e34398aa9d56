// Embeddings of a token per layer (Gemma 3n, Gemma 4).
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// Embeddings for all layers, concatenated, [T, layers * layer_embedding]: the mean of the token's
/// row in their table and a projection of its embedding x [T, width].
Slot layer_embeddings(BuildContext& context, Slot x);

/// post_norm(proj(gelu(inp_gate x) u)), where u [., layer_embedding] is the layer's embedding of
/// the token.
///   x [., width], all from layer_embeddings() -> [., width]
Slot layer_embedding_branch(BuildContext& context, uint32_t layer, Slot x, Slot all);

}  // namespace tenon
