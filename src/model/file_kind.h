// Recognises valid files that are no language models by their metadata. Refuses them with advice.
#pragma once

#include "file/model_file.h"

namespace tenon {

/// Throws Unsupported for an adapter, an importance matrix, an encoder of images or audio, and a
/// control vector. Decides by "general.type" or by the kind's own keys.
void refuse_other_kinds(const ModelFile& file);

}  // namespace tenon
