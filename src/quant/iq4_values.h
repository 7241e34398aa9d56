// The sixteen non-uniform values that iq4_nl and iq4_xs share.
#pragma once

#include <cstdint>

namespace tenon {

/// Denser near zero, where most weights lie; slightly asymmetric. Source: type 20 of the GGUF
/// specification; pinned by tests/quant/vectors_test.
inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

}  // namespace tenon
