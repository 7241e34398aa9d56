// Orion (general.architecture "orion").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// OrionStar 2024, arXiv 2401.12246: Llama with layer norms.
ModelSpec read_orion(const Keys& keys) {
  return read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::Layer});
}

}  // namespace

extern constexpr Architecture kOrion{.read = read_orion};

}  // namespace tenon
