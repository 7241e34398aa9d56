// Qwen2 and Qwen2.5 (general.architecture "qwen2").
#include "arch/architectures.h"

namespace tenon {
namespace {

/// Yang et al. 2024: biases on queries, keys and values; a rotation's pairs are half a head apart.
constexpr DecoderTraits kTraits{
    .rope_style = TENON_ROPE_HALVES,
    .qkv_bias = Presence::Required,
    .output_bias = Presence::Optional,
};

}  // namespace

extern constexpr Architecture kQwen2{"qwen2", build_decoder<kTraits>};

}  // namespace tenon
