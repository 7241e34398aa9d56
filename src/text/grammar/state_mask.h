// Token mask of a grammar's state, as far as it is independent of the register and the stack: the
// context-independent tokens of XGrammar (arXiv 2411.15100). For the rest, it lists the nodes of
// the token tree from which a walk continues.
//
//   inside a string of any characters: all tokens of characters are in the mask; token  ",  leaves
//   the string, and what may follow depends on the stack: an exit at the node of  "
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

/// Groups tokens by the change of distance: by how many bytes the nearest end is farther away after
/// the token than before it. The tokens up to any given change are a mask and a short list.
class TokensByDistance {
 public:
  using Groups = std::map<int32_t, std::vector<Token>>;
  /// Change of tokens whose distance the register decides.
  static constexpr int32_t kUnknownChange = std::numeric_limits<int32_t>::max();

  TokensByDistance() = default;
  /// plain: mask of tokens whose change is 0; may be empty.
  TokensByDistance(Groups groups, std::span<const uint64_t> plain, size_t vocabulary);

  /// Sets the bits of the tokens whose change is at most `most`.
  void add(int64_t most, MaskWords mask) const;
  void add_all(MaskWords mask) const { add(kUnknownChange, mask); }
  [[nodiscard]] std::span<const Token> unknown() const { return unknown_; }
  [[nodiscard]] size_t size_bytes() const;

 private:
  struct Step {
    int32_t change;
    std::vector<uint64_t> bits;  ///< all tokens up to this step; empty: use `list`
    std::vector<Token> list;     ///< tokens of this step only
  };
  std::vector<Step> steps_;  // ascending by change
  std::vector<Token> unknown_;
};

/// Tokens of a state, and the nodes of a token tree at which its register and stack matter.
struct StateMask {
  /// Exit at a node: the walk continues below the node from the exit's target.
  struct Entry {
    uint32_t exit;
    uint32_t node;
  };
  /// Node that is alive only if the register allows it.
  struct Undecided {
    uint32_t node;
    std::string text;  ///< text up to the node
  };
  TokensByDistance tokens;
  const TokenTrie* tree = nullptr;
  std::vector<Entry> entries;  // sorted by exit: the walk continues there
  /// Exits at tokens that are accepted without them, which may bring the end nearer. Sorted by
  /// exit.
  std::vector<Entry> exits;
  std::vector<Undecided> undecided;
  bool unbounded = false;  // too large to cache: try all tokens
  [[nodiscard]] size_t size_bytes() const;
};

}  // namespace tenon::grammar
