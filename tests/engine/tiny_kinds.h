// Tiny models with different kinds of cache. For tests only.
#pragma once

#include <string>

#include "tests/engine/tiny_model.h"

namespace tenon {

/// Three layers with a window of `window` positions, then one with full attention (cohere2).
inline TinyModel tiny_window(uint32_t window = 24) {
  TinyModel tiny;
  tiny.architecture = "cohere2";
  tiny.layers = 4;
  tiny.width = 32;
  tiny.heads = 2;
  tiny.key_dim = tiny.value_dim = 16;
  tiny.feed_forward = 64;
  tiny.formats = {Format::Q8_0, Format::F32, Format::Q4_0};
  for (int layer = 0; layer < 4; ++layer) {
    tiny.left_out.insert("blk." + std::to_string(layer) + ".ffn_norm.weight");
  }
  tiny.more = [window](GgufWriter& writer) {
    writer.add("cohere2.attention.sliding_window", window);
    writer.add("cohere2.attention.layer_norm_epsilon", 1e-5f);
    writer.add("cohere2.logit_scale", 1.0f);
  };
  return tiny;
}

}  // namespace tenon
