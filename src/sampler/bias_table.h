// Biases of tokens set by a host, in the order of tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sampler/stage.h"

namespace tenon {

/// Takes O(n log n) time for n calls in any order.
class BiasTable {
 public:
  static constexpr size_t kMaxTokens = size_t{1} << 20;

  /// Sets the bias of a token; 0 removes it. Throws Argument for more than kMaxTokens tokens.
  void set(int32_t token, float bias);
  void clear();
  /// Merges the latest calls; allocates if there were any.
  void settle();
  /// Biases in ascending order of unique tokens, without those set since settle().
  [[nodiscard]] std::span<const LogitBias> settled() const { return settled_; }
  [[nodiscard]] bool has(int32_t token) const;

 private:
  [[nodiscard]] bool is_settled(int32_t token) const;

  std::vector<LogitBias> settled_;
  std::map<int32_t, float> changes_;  // changes to settled_
  size_t num_tokens_ = 0;             // tokens of settled_ and changes_ together
};

}  // namespace tenon
