// Blocks that predict further tokens (multi-token prediction): their layer specification and
// program. decoder.h builds the trunk.
#pragma once

#include <cstdint>

#include "arch/build_context.h"
#include "file/model_file.h"

namespace tenon {

/// Specification of prediction block `index`: one layer (PredictionSpec), at the block's index in
/// the file. Throws State for a model without such a block, Unsupported if the file holds the trunk
/// only or a block is not a whole layer.
ModelSpec prediction_of(const ModelFile& file, const ModelSpec& model, uint32_t index);

/// Builds the program of a prediction_of() model (DeepSeek-AI 2024, arXiv 2412.19437, section 2.2):
///   h' = layer(eh_proj [enorm(embedding(t)); hnorm(h)]);  logits = head(norm(h'))
/// Each row has a token t and, in the input "hidden" [T, width], the hidden state of the token
/// before t, from the trunk or the previous block; its position is that of the token before t.
/// Results are the hidden state of the wanted rows [R, width], for the next block, and the logits
/// [R, vocab] of the token after t. PredictionSpec tells which norms the hidden states have passed.
/// Returns the logits.
Slot build_prediction(BuildContext& context);

}  // namespace tenon
