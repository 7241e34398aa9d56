// Random numbers that are equal on all machines for equal seeds; for measuring, not for secrets.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <tenon/tenon.hpp>

namespace tenon_program {

/// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Standard normal, by Box and Muller.
  double normal() {
    const double radius = std::sqrt(2 * exponential());
    return radius * std::cos(2 * std::numbers::pi * unit());
  }
  /// Exponential with mean 1.
  double exponential() { return -std::log1p(-unit()); }

 private:
  uint64_t state_;
};

/// Fills in ids spread over the vocabulary. Speed requires different ids, but not particular ones.
inline void spread_tokens(std::span<tenon::Token> tokens, uint64_t vocabulary, uint64_t seed) {
  Random random(seed);
  for (tenon::Token& token : tokens) token = static_cast<tenon::Token>(random.next() % vocabulary);
}

}  // namespace tenon_program
