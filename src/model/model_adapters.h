// The option merged_adapters: adapters that become part of a model's weights while they are loaded.
#pragma once

#include <memory>

#include "file/model_file.h"
#include "model/model_options.h"

namespace tenon {

/// The file with the options' adapters merged, or the file itself without any. Throws Argument for
/// a malformed entry, and as read_adapter and merge_adapters.
std::shared_ptr<const ModelFile> with_merged_adapters(std::shared_ptr<const ModelFile> file,
                                                      const ModelOptions& options);

}  // namespace tenon
