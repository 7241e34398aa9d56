// InternLM 2 and 3 (general.architecture "internlm2").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Cai et al. 2024: Llama; these files hold its fused weights separately.
ModelSpec read_internlm2(const Keys& keys) {
  return read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
}

}  // namespace

extern constexpr Architecture kInternLm2{.read = read_internlm2};

}  // namespace tenon
