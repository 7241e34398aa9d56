// A whole decoder, put together from blocks as its specification says. An architecture of another
// shape composes the same functions itself.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// tokens -> [T, width]: rows of "token_embd", scaled.
Slot embedding(BuildContext& context);

/// One layer of attention and feed-forward with their norms and residuals (LayerSpec).
///   x [T, width] -> [T, width]; [R, width] after the last layer, where only the wanted rows go on
Slot decoder_layer(BuildContext& context, uint32_t layer, Slot x);

/// The output norm and the logits: "output", or the embedding's rows again where the file has none
/// ("tied").
///   x [R, width] -> [R, vocab]
/// Of a model that gives rows the output norm and row_head():
///   x [T, width]
Slot output_head(BuildContext& context, Slot x);

/// An encoder: the embedding, all layers, the output norm where there is one, and row_head().
Slot build_encoder(BuildContext& context);

/// All of it. Returns the logits [R, vocab]; of a model that gives rows, row_head().
Slot build_decoder(BuildContext& context);

}  // namespace tenon
