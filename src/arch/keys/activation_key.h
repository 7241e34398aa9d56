// Activation of feed-forwards in families whose models differ in it.
#pragma once

#include <cstdint>

#include "arch/keys/keys.h"

namespace tenon {

/// Reads TENON_ACTIVATION_* from "hidden_act" or, if missing, "hidden_activation", spelled as in
/// configurations of `transformers`: "gelu" is the GELU by erf. Returns `fallback` without either
/// key. Throws Unsupported for an unknown name.
///   gated  the activation is a gate's, which cannot be squared ReLU
uint32_t read_activation(const Keys& keys, uint32_t fallback, bool gated = false);

}  // namespace tenon
