// The biases of tokens that a host has set, in the order of tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sampler/stage.h"

namespace tenon {

/// Any order of many calls takes time in proportion to them (times the logarithm).
class BiasTable {
 public:
  static constexpr size_t kMaxTokens = size_t{1} << 20;

  /// From now on `bias` for the token; 0 for none. Throws Argument for more than kMaxTokens tokens.
  void set(int32_t token, float bias);
  void clear();
  /// Takes the last calls in; allocates where there were any.
  void settle();
  /// By token, no token twice, without what was set since settle().
  [[nodiscard]] std::span<const LogitBias> settled() const { return settled_; }
  [[nodiscard]] bool has(int32_t token) const;

 private:
  [[nodiscard]] bool is_settled(int32_t token) const;

  std::vector<LogitBias> settled_;
  std::map<int32_t, float> changes_;  // to it
  size_t num_tokens_ = 0;             // with both
};

}  // namespace tenon
