// ERNIE 4.5, dense (general.architecture "ernie4_5").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Baidu 2025: Llama.
ModelSpec read_ernie4_5(const Keys& keys) {
  return read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
}

}  // namespace

extern constexpr Architecture kErnie45{.read = read_ernie4_5};

}  // namespace tenon
