// The token mask of one state of a grammar, as far as it does not depend on the register and the
// stack: the context-independent tokens of XGrammar (arXiv 2411.15100). Where it does depend, the
// nodes of the tree of tokens at which a walk goes on.
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

/// Tokens by the change of distance: by how many bytes the nearest end is farther away after the
/// token than before it. Those up to any given change are a mask and a short list.
class TokensByDistance {
 public:
  using Groups = std::map<int32_t, std::vector<Token>>;
  /// Of tokens after which the register decides how far the end is.
  static constexpr int32_t kUnknownChange = std::numeric_limits<int32_t>::max();

  TokensByDistance() = default;
  /// plain: a mask of tokens whose change is 0, or empty.
  TokensByDistance(Groups groups, std::span<const uint64_t> plain, size_t vocabulary);

  /// Sets the bits of the tokens whose change is `most` at most.
  void add(int64_t most, MaskWords mask) const;
  void add_all(MaskWords mask) const { add(kUnknownChange, mask); }
  [[nodiscard]] std::span<const Token> unknown() const { return unknown_; }
  [[nodiscard]] size_t size_bytes() const;

 private:
  struct Step {
    int32_t change;
    std::vector<uint64_t> bits;  ///< of all tokens up to this step; empty: `list`
    std::vector<Token> list;     ///< of this step alone
  };
  std::vector<Step> steps_;  // by change
  std::vector<Token> unknown_;
};

/// The tokens of one state, and the nodes of a tree of tokens where its register and stack matter.
struct StateMask {
  /// An exit at a node: the walk goes on below it from where the exit leads.
  struct Entry {
    uint32_t exit;
    uint32_t node;
  };
  /// A node that is alive only if the register allows it.
  struct Undecided {
    uint32_t node;
    std::string text;  ///< up to the node
  };
  TokensByDistance tokens;
  const TokenTrie* tree = nullptr;
  std::vector<Entry> entries;  // by exit: the walk goes on there
  /// Exits at tokens that are accepted without them, which may be nearer to the end by them. By
  /// exit.
  std::vector<Entry> exits;
  std::vector<Undecided> undecided;
  bool unbounded = false;  // not worth keeping: all tokens are to be tried
  [[nodiscard]] size_t size_bytes() const;
};

}  // namespace tenon::grammar
