// Files of the right format that are no language model: told from their metadata, and refused with
// what to do about them.
#pragma once

#include "file/model_file.h"

namespace tenon {

/// Throws Unsupported for an adapter, an importance matrix, the encoder of pictures or sound that goes
/// with a text model, and a control vector, as "general.type" or keys of their own say it.
void refuse_other_kinds(const ModelFile& file);

}  // namespace tenon
