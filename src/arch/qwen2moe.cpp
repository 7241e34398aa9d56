// Qwen1.5-MoE and Qwen2-MoE (general.architecture "qwen2moe").
#include "arch/architectures.h"

namespace tenon {
namespace {

/// Yang et al. 2024, section 2.2.2: Qwen2 with experts beside a shared one; a token's weights are
/// those of the softmax over all experts.
constexpr DecoderTraits kTraits{
    .rope_style = TENON_ROPE_HALVES,
    .qkv_bias = Presence::Required,
    .experts_normalised = false,
    .shared_expert = true,
};

}  // namespace

extern constexpr Architecture kQwen2Moe{"qwen2moe", build_decoder<kTraits>, Presence::Required};

}  // namespace tenon
