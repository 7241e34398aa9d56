// What one state of a grammar lets through, whatever its register and stack are, worked out once.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "text/grammar/token_trie.h"

namespace tenon::grammar {

/// One bit per token.
using MaskWords = std::span<uint64_t>;

inline void set_bit(MaskWords mask, Token token) {
  const auto t = static_cast<size_t>(token);
  mask[t / 64] |= uint64_t{1} << (t % 64);
}

/// Tokens by their gain: by how many bytes the nearest end is farther away behind them. What is
/// near enough is a mask and a short list, wherever the line is drawn.
class TokensByGain {
 public:
  using Groups = std::map<int32_t, std::vector<Token>>;
  /// Of tokens behind which the register decides how far the end is.
  static constexpr int32_t kUnknownGain = std::numeric_limits<int32_t>::max();

  TokensByGain() = default;
  /// plain: a mask of tokens without a gain, or empty.
  TokensByGain(Groups groups, std::span<const uint64_t> plain, size_t vocabulary);

  /// Sets the bits of the tokens that gain no more.
  void add(int64_t most, MaskWords mask) const;
  void add_all(MaskWords mask) const { add(kUnknownGain, mask); }
  [[nodiscard]] std::span<const Token> unknown() const { return unknown_; }
  [[nodiscard]] size_t size_bytes() const;

 private:
  struct Step {
    int32_t gain;
    std::vector<uint64_t> bits;  ///< of all tokens up to this step; empty: `list`
    std::vector<Token> list;     ///< of this step alone
  };
  std::vector<Step> steps_;  // by gain
  std::vector<Token> unknown_;
};

/// The tokens of one state, and the nodes of a tree of tokens where its register and stack matter.
struct StateMask {
  /// An exit at a node: the walk goes on below it from where the exit leads.
  struct Entrance {
    uint32_t exit;
    uint32_t node;
  };
  /// A node that is alive only if the register allows it.
  struct Doubt {
    uint32_t node;
    std::string text;  ///< up to the node
  };
  TokensByGain tokens;
  const TokenTrie* tree = nullptr;
  std::vector<Entrance> entrances;  // by exit
  /// Exits at tokens that are accepted without them, which may be nearer to the end by them. By
  /// exit.
  std::vector<Entrance> ways_out;
  std::vector<Doubt> doubts;
  bool unbounded = false;  // not worth keeping: all tokens are to be tried
  [[nodiscard]] size_t size_bytes() const;
};

}  // namespace tenon::grammar
