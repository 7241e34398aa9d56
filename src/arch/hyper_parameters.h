// The numbers that describe a decoder, read from metadata and checked against each other; the only
// place that knows their keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "arch/rope.h"
#include "file/model_file.h"

namespace tenon {

/// What a model file says about its mixture of experts.
struct ExpertParameters {
  uint32_t count = 0;                ///< of each layer; 0: there are none
  uint32_t used = 0;                 ///< 1..count, by each token
  uint32_t feed_forward = 0;         ///< of one expert
  uint32_t shared_feed_forward = 0;  ///< of the expert that all tokens use
  std::optional<bool> normalised;    ///< whether the weights of a token's experts sum to 1, if told
  float scale = 1.0f;                ///< multiplies them
};

/// Hyper-parameters of a decoder-only transformer. As they come out of read_hyper_parameters, all
/// sizes are in range and fit together.
struct HyperParameters {
  std::string architecture;  ///< "llama"
  uint32_t layers = 0;
  uint32_t width = 0;  ///< of the residual stream
  uint32_t heads = 0;
  uint32_t kv_heads = 0;   ///< divides heads
  uint32_t key_dim = 0;    ///< of one head
  uint32_t value_dim = 0;  ///< of one head
  uint32_t feed_forward = 0;
  uint32_t vocab = 0;  ///< rows of the embedding
  uint32_t trained_context = 0;
  uint32_t window = 0;   ///< attention looks back this far; 0: to the beginning
  float epsilon = 0.0f;  ///< of RMS norms
  RopeParameters rope;
  ExpertParameters experts;
};

/// Reads the keys "<architecture>.*" and the shape of token_embd.weight. Throws Format naming the
/// key, the value and the range for what is missing, of the wrong type, out of range or contradicts
/// another key; Unsupported for features this build lacks (unknown rope scalings, unknown ways to
/// choose experts).
HyperParameters read_hyper_parameters(const ModelFile& file);

}  // namespace tenon
