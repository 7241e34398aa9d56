// Embeddings of a token that each layer has for itself (Gemma 3n, Gemma 4).
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// Of all layers side by side, [T, layers * layer_embedding]: the mean of what the token's own
/// table gives and a projection of its embedding x [T, width].
Slot layer_embeddings(BuildContext& context, Slot x);

/// post_norm(proj(gelu(inp_gate x) u)), u [., layer_embedding] the layer's embedding of the token.
///   x [., width], all as layer_embeddings gave it -> [., width]
Slot layer_embedding_branch(BuildContext& context, uint32_t layer, Slot x, Slot all);

}  // namespace tenon
