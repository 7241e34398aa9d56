// Llama 1 to 3, Mistral, Mixtral (with experts) and the many models that share their shape
// (general.architecture "llama").
#include "arch/architectures.h"

namespace tenon {
namespace {

/// Touvron et al. 2023. The rows of attn_q and attn_k in these files are permuted so that the pairs
/// of a rotation are neighbours. Biases occur in some descendants.
constexpr DecoderTraits kTraits{
    .rope_style = TENON_ROPE_ADJACENT,
    .qkv_bias = Presence::Optional,
    .attention_output_bias = Presence::Optional,
    .feed_forward_bias = Presence::Optional,
};

}  // namespace

extern constexpr Architecture kLlama{"llama", build_decoder<kTraits>, Presence::Optional};

}  // namespace tenon
