// The short convolution of LFM2 as a mixer.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// A short convolution between two gates, Liquid AI 2025: [b, c, v] = in_proj(x),
/// out_proj(c conv(b v)), with "shortconv.in_proj", "shortconv.conv" and "shortconv.out_proj".
struct ShortConvSpec {
  uint32_t kernel = 0;  ///< taps

  [[nodiscard]] uint64_t state_values(uint64_t width) const { return (kernel - 1) * width; }
  ///   x [T, width], normalised -> [T, width]; [R, width] in the last layer
  Slot build(BuildContext& context, uint32_t layer, Slot x) const;
  void add_caches(BuildContext& context, uint32_t layer) const;
};

}  // namespace tenon
