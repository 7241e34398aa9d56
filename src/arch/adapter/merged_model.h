// A model file with adapters merged into its tensors.
#pragma once

#include <memory>
#include <span>

#include "arch/adapter/adapter.h"

namespace tenon {

/// The file with the changed tensors in f32, computed when they are read: the base model's values
/// plus those of the adapters, in their order. The others stay where they are. Keeps the base and
/// the adapters. Throws Unsupported for adapters of an invocation (aLoRA), for two that replace or
/// rescale one tensor, and for tensors that are not decoded.
std::shared_ptr<const ModelFile> merge_adapters(const std::shared_ptr<const ModelFile>& base,
                                                std::span<const ScaledAdapter> adapters);

}  // namespace tenon
