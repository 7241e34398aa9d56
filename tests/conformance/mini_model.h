// Small decoders like those of architectures, in any geometry.
#pragma once

#include <string>
#include <vector>

#include "program/operations.h"
#include "quant/formats.h"

namespace tenon::conformance {

struct MiniModel {
  uint32_t layers = 2;
  uint32_t width = 96;
  uint32_t heads = 6;
  uint32_t kv_heads = 3;
  uint32_t key_dim = 48;
  uint32_t value_dim = 48;
  uint32_t feed_forward = 160;
  uint32_t vocab = 67;
  uint32_t rope_pairs = 0;  ///< 0 means all of key_dim
  uint32_t rope_style = TENON_ROPE_ADJACENT;
  uint32_t activation = TENON_ACTIVATION_SILU;
  uint32_t cache_type = TENON_TYPE_F32;
  uint32_t block_tokens = 32;
  uint32_t window = 0;  ///< of every second layer, in a separate group
  bool biases = false;
  bool head_norms = false;
  bool up_first = false;
  float soft_cap = 0;
  /// 0 means none; else two are used, each of feed_forward, plus a shared expert.
  uint32_t experts = 0;
  uint32_t max_tokens = 64;
  /// Formats of the matrices, cyclically; the embedding and the logits use the first.
  std::vector<Format> formats = {Format::F32};
};

/// norm, q, k, v, head norms, rope, kv_write, attention, output, residual, norm, gate, up, glu,
/// down, residual; per layer. Then the wanted rows, norm, logits.
Program build(const MiniModel& model);

}  // namespace tenon::conformance
