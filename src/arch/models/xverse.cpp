// XVERSE (general.architecture "xverse").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// XVERSE Technology 2023, model card of XVERSE-13B: Llama.
ModelSpec read_xverse(const Keys& keys) {
  return read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
}

}  // namespace

extern constexpr Architecture kXverse{.read = read_xverse};

}  // namespace tenon
