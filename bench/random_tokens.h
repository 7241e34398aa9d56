// Random tokens for the benchmarks of the engine.
#pragma once

#include <cstdint>
#include <vector>

#include "model/model.h"

namespace tenon {

/// [count] tokens of the model's vocabulary, equal for equal seeds.
inline std::vector<Token> make_tokens(const Model& model, uint64_t count, uint32_t seed) {
  const auto vocab = static_cast<uint32_t>(model.spec().vocab);
  std::vector<Token> tokens;
  uint32_t state = seed * 2654435761u + 1;
  for (uint64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    tokens.push_back(static_cast<Token>((state >> 8) % vocab));
  }
  return tokens;
}

}  // namespace tenon
