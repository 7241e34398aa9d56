// The decoder that most architectures share: embedding, blocks of attention and feed-forward,
// output head. Differences between architectures are fields of a description, not code paths of
// their own.
#pragma once

#include <cstdint>

#include "arch/hyper_parameters.h"
#include "arch/tensor_binder.h"
#include "program/program.h"
#include "tenon/backend.h"

namespace tenon {

/// Whether a kind of tensor belongs to an architecture.
enum class Presence { Absent, Optional, Required };

/// What one architecture does its own way.
struct DecoderTraits {
  uint32_t rope_style = TENON_ROPE_ADJACENT;
  Presence qk_norm = Presence::Absent;  ///< RMS norm of each query and key head
  Presence qkv_bias = Presence::Absent;
  Presence attention_output_bias = Presence::Absent;
  Presence feed_forward_bias = Presence::Absent;  ///< of gate, up and down
  Presence output_bias = Presence::Absent;
  /// Whether the weights of a token's experts sum to 1, where the file does not say it.
  bool experts_normalised = true;
  bool shared_expert = false;  ///< beside the chosen ones, with a gate of its own
};

/// What the program shall look like beyond the model itself.
struct ProgramOptions {
  uint32_t cache_type = TENON_TYPE_F16;  ///< as tenon_kv_group.type
  uint32_t block_tokens = 32;            ///< positions in a KV block
  StepLimits limits;
};

/// Builds the operations and returns the logits [R, vocab]. Errors as TensorBinder.
Slot build_decoder(const HyperParameters& model, const DecoderTraits& traits,
                   const ProgramOptions& options, TensorBinder& tensors, ProgramBuilder& builder);
/// The same as a function of the architecture that has these traits.
template <const DecoderTraits& kTraits>
Slot build_decoder(const HyperParameters& model, const ProgramOptions& options,
                   TensorBinder& tensors, ProgramBuilder& builder) {
  return build_decoder(model, kTraits, options, tensors, builder);
}

}  // namespace tenon
