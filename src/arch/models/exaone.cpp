// EXAONE 3 and 3.5 (general.architecture "exaone").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// LG AI Research 2024, arXiv 2408.03541: Llama.
ModelSpec read_exaone(const Keys& keys) {
  return read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
}

}  // namespace

extern constexpr Architecture kExaone{.read = read_exaone};

}  // namespace tenon
