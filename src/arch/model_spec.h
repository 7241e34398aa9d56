// What a model is, as numbers and names: a description of every layer and of what stands before and
// after them. Written by an architecture from a file's metadata, read by the blocks that build the
// program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "arch/rope.h"
#include "tenon/backend.h"

namespace tenon {

/// Whether a kind of tensor belongs to a model.
enum class Presence { Absent, Optional, Required };

enum class NormKind {
  Rms,            ///< root mean square (Zhang and Sennrich 2019)
  Layer,          ///< with a weight and a bias (Ba et al. 2016)
  LayerUnbiased,  ///< with a weight alone
};

/// A normalisation, by the name of its tensors in the layer: "attn_norm". No name: there is none.
struct NormSpec {
  std::string_view name{};
  NormKind kind = NormKind::Rms;
  float epsilon = 0.0f;
};

/// RMS norms of queries and keys ("attn_q_norm", "attn_k_norm").
enum class QkNorm {
  None,
  EachHead,  ///< a weight [key_dim] that all heads share
  WholeRow,  ///< over all heads together, before they are split
};

/// Softmax attention over the cache.
struct AttentionSpec {
  uint32_t heads = 0;
  uint32_t kv_heads = 0;   ///< divides heads
  uint32_t key_dim = 0;    ///< of one head
  uint32_t value_dim = 0;  ///< of one head
  uint32_t window = 0;     ///< looks back this far; 0: to the beginning
  float scale = 1.0f;      ///< of the scores
  float soft_cap = 0.0f;   ///< of the scores; 0: none
  RopeSpec rope;           ///< no dimensions: positions are not rotated
  QkNorm qk_norm = QkNorm::None;
  float qk_norm_epsilon = 0.0f;
  bool rope_before_norm = false;
  bool fused_qkv = false;  ///< "attn_qkv" holds queries, keys and values in this order
  Presence qkv_bias = Presence::Absent;
  Presence output_bias = Presence::Absent;
};

/// A mixture of experts (Shazeer et al. 2017).
struct ExpertSpec {
  uint32_t count = 0;         ///< 0: there are none
  uint32_t used = 0;          ///< 1..count, by each token
  uint32_t width = 0;         ///< of one expert
  bool normalised = true;     ///< the weights of a token's experts sum to 1, before `scale`
  float scale = 1.0f;         ///< multiplies them
  uint32_t shared_width = 0;  ///< of the expert that all tokens use; 0: there is none
  bool shared_gate = false;   ///< that one is weighed by a sigmoid of its own
};

enum class FeedForwardKind {
  Gated,        ///< down(act(gate x) up x): Shazeer 2020
  SquaredRelu,  ///< down(relu(up x)^2): So et al. 2021
};

struct FeedForwardSpec {
  FeedForwardKind kind = FeedForwardKind::Gated;
  uint32_t activation = TENON_ACTIVATION_SILU;  ///< of the gate
  uint32_t width = 0;                           ///< of the dense one
  bool fused_gate_up = false;                   ///< "ffn_up" holds the gate's rows, then its own
  Presence bias = Presence::Absent;
  ExpertSpec experts;  ///< in place of the dense one, if there are any
};

/// x += residual_scale post_norm(attention(norm(x))), and the same with the feed-forward. Norms
/// that have no name are left out.
struct LayerSpec {
  NormSpec attention_norm;
  AttentionSpec attention;
  NormSpec attention_post_norm;
  NormSpec feed_forward_norm;
  FeedForwardSpec feed_forward;
  NormSpec feed_forward_post_norm;
  /// Both read the same x (the feed-forward what attention's norm gives, unless it has a norm of
  /// its own), and their sum is added to it.
  bool parallel = false;
  float residual_scale = 1.0f;
};

/// A decoder. As it comes out of read_model_spec, all sizes are in range and fit together.
struct ModelSpec {
  std::string architecture;  ///< "llama"
  uint32_t width = 0;        ///< of the residual stream
  uint32_t vocab = 0;        ///< tokens; the logits of a row
  uint32_t vocab_rows = 0;   ///< of the embedding, vocab or more: those beyond are never read
  uint32_t trained_context = 0;
  float embedding_scale = 1.0f;
  std::vector<LayerSpec> layers;  ///< at least one
  NormSpec output_norm;
  float logit_scale = 1.0f;
  float logit_soft_cap = 0.0f;  ///< 0: none
  Presence output_bias = Presence::Absent;
};

}  // namespace tenon
