// Blocks that predict further tokens (multi-token prediction): which layer they are made of, and
// their program. The trunk that they go on from is in decoder.h.
#pragma once

#include <cstdint>

#include "arch/build_context.h"
#include "file/model_file.h"

namespace tenon {

/// The specification of prediction block `index` of a model: one layer (PredictionSpec), at the
/// block's place in the file. Throws State for a model without such a block, Unsupported where the
/// file holds the trunk only, or a block that is not a whole layer.
ModelSpec prediction_of(const ModelFile& file, const ModelSpec& model, uint32_t index);

/// The program of a prediction_of() model (DeepSeek-AI 2024, arXiv 2412.19437, section 2.2):
///   h' = layer(eh_proj [enorm(embedding(t)); hnorm(h)]);  logits = head(norm(h'))
/// Each row has a token t and, in the input "hidden" [T, width], what the trunk or the block before
/// this one gives for the token before t; its position is that of the token before t. Results are
/// the hidden state of the wanted rows [R, width], for the block that comes after, and the logits
/// [R, vocab], of the token after t. Which norms hidden states have been through PredictionSpec
/// tells. Returns the logits.
Slot build_prediction(BuildContext& context);

}  // namespace tenon
