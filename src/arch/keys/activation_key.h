// The activation of feed-forwards, of which some families have models with one and with another.
#pragma once

#include <cstdint>

#include "arch/keys/keys.h"

namespace tenon {

/// TENON_ACTIVATION_* by the name that "hidden_act" has or, where that key is missing, "hidden_activation",
/// as configurations of the package `transformers` spell them: "gelu" is the one by erf there. Files without
/// either key have `fallback`. Throws Unsupported for a name that is not known.
///   gated  the activation is that of a gate, of which there is no squared ReLU
uint32_t read_activation(const Keys& keys, uint32_t fallback, bool gated = false);

}  // namespace tenon
