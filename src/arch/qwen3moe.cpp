// Qwen3 with experts (general.architecture "qwen3moe").
#include "arch/architectures.h"

namespace tenon {
namespace {

/// Yang et al. 2025: Qwen3 with a mixture of experts in every layer, none of them shared.
constexpr DecoderTraits kTraits{
    .rope_style = TENON_ROPE_HALVES,
    .qk_norm = Presence::Required,
};

Slot build(const HyperParameters& model, const ProgramOptions& options, TensorBinder& tensors,
           ProgramBuilder& builder) {
  return build_decoder(model, kTraits, options, tensors, builder);
}

}  // namespace

extern constexpr Architecture kQwen3Moe{"qwen3moe", build, Presence::Required};

}  // namespace tenon
