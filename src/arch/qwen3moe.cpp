// Qwen3 with experts (general.architecture "qwen3moe").
#include "arch/architectures.h"

namespace tenon {
namespace {

/// Yang et al. 2025: Qwen3 with a mixture of experts in every layer, none of them shared.
constexpr DecoderTraits kTraits{
    .rope_style = TENON_ROPE_HALVES,
    .qk_norm = Presence::Required,
};

}  // namespace

extern constexpr Architecture kQwen3Moe{"qwen3moe", build_decoder<kTraits>, Presence::Required};

}  // namespace tenon
