// Assembles a decoder from blocks as its specification says. Other architectures compose the same
// functions themselves.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// tokens -> [T, width]: scaled rows of "token_embd".
Slot embedding(BuildContext& context);

/// A layer of attention and feed-forward with norms and residuals (LayerSpec).
///   x [T, width] -> [T, width]; [R, width] after the last layer, which keeps only the wanted rows
Slot decoder_layer(BuildContext& context, uint32_t layer, Slot x);

/// The output norm and the logits: "output", or the embedding's rows if the file lacks it ("tied").
///   x [R, width] -> [R, vocab]
/// For a model that gives rows: the output norm and row_head().
///   x [T, width]
Slot output_head(BuildContext& context, Slot x);

/// An encoder: the embedding, all layers, the output norm, if any, and row_head().
Slot build_encoder(BuildContext& context);

/// A whole decoder. Returns the logits [R, vocab], or row_head() for a model that gives rows.
Slot build_decoder(BuildContext& context);

}  // namespace tenon
