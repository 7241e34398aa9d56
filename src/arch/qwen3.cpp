// Qwen3, dense (general.architecture "qwen3").
#include "arch/architectures.h"

namespace tenon {
namespace {

/// Yang et al. 2025: no biases, an RMS norm on every query and key head before the rotation.
constexpr DecoderTraits kTraits{
    .rope_style = TENON_ROPE_HALVES,
    .qk_norm = Presence::Required,
};

}  // namespace

extern constexpr Architecture kQwen3{"qwen3", build_decoder<kTraits>};

}  // namespace tenon
