// The blocks of RWKV 6 and 7: the time mix, a recurrence over a matrix per head, and the channel
// mix, which also reads the previous token.
#pragma once

#include <cstdint>
#include <string_view>

#include "arch/build_context.h"

namespace tenon {

/// RWKV 6 (Peng et al. 2024, arXiv 2404.05892) and 7 (Peng et al. 2025, arXiv 2503.14456).
struct WkvSpec {
  uint32_t head_dim = 0;
  uint32_t shifts = 2;  ///< rows kept: the time mix's, and with 2 the channel mix's
  uint32_t decay_rank = 0;
  // RWKV 6
  float result_scale = 1.0f;  ///< multiplies the layer's result
  uint32_t mix_rank = 0;      ///< rank of the mix with the previous token; 0 means RWKV 7
  uint32_t kv_heads = 0;      ///< heads of keys and values, each shared by several heads
  bool linear = false;  ///< gated linear attention: no bonus, no norm of heads, keys times 1 - w
  // RWKV 7
  uint32_t rate_rank = 0;   ///< rank of the in-context learning rate
  uint32_t value_rank = 0;  ///< rank of the share of the first layer's values
  uint32_t gate_rank = 0;   ///< 0 means no gate
  Presence head_norm = Presence::Required;
  float epsilon = 64e-5f;  ///< norm of heads; independent of the model's norms

  [[nodiscard]] uint64_t state_values(uint64_t width) const { return width * (shifts + head_dim); }
  /// The time mix, including its output matrix.
  ///   x [T, width] -> [T, width]; [R, width] in the last layer
  Slot build(BuildContext& context, uint32_t layer, Slot x) const;
  void add_caches(BuildContext& context, uint32_t layer) const;
};

/// Role of the state: the last rows of the time mix and of the channel mix, then the heads.
inline constexpr std::string_view kWkvState = "wkv";

/// The time mixes of RWKV 6 and 7 without the output matrix: x [T, width] -> [T, width].
Slot time_mix_6(BuildContext& context, uint32_t layer, Slot x);
Slot time_mix_7(BuildContext& context, uint32_t layer, Slot x);

/// Builds RWKV 6 or 7: layers of time mix and channel mix. Returns the logits [R, vocab].
Slot build_rwkv(BuildContext& context);

}  // namespace tenon
