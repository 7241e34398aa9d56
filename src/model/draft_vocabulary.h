// Which models may guess tokens for another one.
#pragma once

#include "model/model.h"

namespace tenon {

/// Throws Unsupported, naming the difference, unless `draft` is a decoder whose tokens are those of
/// `model`. One may have more tokens than the other.
void check_draft_model(const Model& model, const Model& draft);

}  // namespace tenon
