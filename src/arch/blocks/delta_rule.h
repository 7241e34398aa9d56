// The gated delta rule as a mixer, with a decay per head or per key channel.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// Gated delta rule (Yang et al. 2024, arXiv 2412.06464); with a decay per channel, Kimi Delta
/// Attention (2025, arXiv 2510.26692).
struct DeltaSpec {
  uint32_t key_heads = 0;
  uint32_t value_heads = 0;  ///< a multiple of key_heads
  uint32_t key_dim = 0;
  uint32_t value_dim = 0;
  uint32_t kernel = 0;  ///< taps of the convolution
  /// Value head j reads key head j % key_heads; else neighbours share a key head.
  bool interleaved = false;
  bool each_channel = false;  ///< Kimi Delta Attention: a decay per key channel
  bool fused_rates = false;   ///< "ssm_ba" holds the rows of beta and alpha, grouped by key head
  /// With each_channel: decay and gate use one matrix each ("ssm_f_a", "ssm_g_a"), not products of
  /// two.
  bool full_rank = false;
  bool full_gate = false;      ///< only the gate uses one matrix ("ssm_g")
  bool negative_rate = false;  ///< "ssm_a" [heads] holds -a if lower_bound is set
  /// With each_channel: decay = lower_bound sigmoid(a (f x + bias)); 0 means a softplus(f x +
  /// bias).
  float lower_bound = 0.0f;
  float epsilon = 0.0f;
  bool sigmoid_gate = false;  ///< gates the result by a sigmoid, without each_channel; else by SiLU

  [[nodiscard]] uint64_t key_columns() const { return uint64_t{key_heads} * key_dim; }
  [[nodiscard]] uint64_t value_columns() const { return uint64_t{value_heads} * value_dim; }
  [[nodiscard]] uint64_t conv_columns() const { return 2 * key_columns() + value_columns(); }
  [[nodiscard]] uint64_t conv_values() const { return (kernel - 1) * conv_columns(); }
  [[nodiscard]] uint64_t state_values() const { return conv_values() + key_dim * value_columns(); }

  /// Gated DeltaNet (Qwen3-Next, Qwen3.5) has "attn_qkv", "attn_gate", "ssm_conv1d", "ssm_a",
  /// "ssm_dt", "ssm_norm", "ssm_out" and "ssm_alpha", "ssm_beta" or both in "ssm_ba". Kimi Delta
  /// Attention has "attn_q", "attn_k", "attn_v" with a convolution each, and low-rank "ssm_f_*" and
  /// "ssm_g_*".
  ///   x [T, width], normalised -> [T, width]; [R, width] in the last layer
  Slot build(BuildContext& context, uint32_t layer, Slot x) const;
  void add_caches(BuildContext& context, uint32_t layer) const;
};

}  // namespace tenon
