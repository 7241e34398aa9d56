// Reads a regular expression into a tree. Matching is in pattern and pattern_search.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/unicode/char_set.h"

namespace tenon {

/// A node of the tree; children by number, smaller than the node's own.
struct PatternNode {
  enum Kind : uint8_t {
    Empty,     ///< matches nothing, everywhere
    Set,       ///< one character of a set
    Sequence,  ///< the children in order
    Choice,    ///< the first child that leads to a match
    Repeat,    ///< the child, minimum to maximum times
    Look,      ///< the child matches ahead (or behind), or does not; consumes nothing
    Assert,    ///< a place in the text
  };
  enum Place : uint8_t {
    LineBegin,
    LineEnd,
    TextBegin,
    TextEnd,
    LastLineEnd,
    WordEdge,
    NoWordEdge
  };
  enum Greed : uint8_t { Greedy, Lazy, Possessive };

  Kind kind = Empty;
  Place place = LineBegin;
  Greed greed = Greedy;
  bool negated = false;  ///< Look
  bool behind = false;   ///< Look
  uint32_t set = 0;      ///< Set: index in PatternTree::sets
  uint32_t minimum = 0;  ///< Repeat
  uint32_t maximum = 0;  ///< Repeat; kNoMaximum: any number
  std::vector<uint32_t> children;

  static constexpr uint32_t kNoMaximum = UINT32_MAX;
};

struct PatternTree {
  std::vector<PatternNode> nodes;
  std::vector<CharSet> sets;
  uint32_t root = 0;
};

/// Reads the syntax of Oniguruma (Ruby), which Hugging Face's tokenizers use, as far as it is
/// regular: groups, |, quantifiers (greedy, lazy, possessive), sets with nesting and &&, \p{...},
/// escapes, (?i), look-around, anchors (^ and $ are those of lines). Capturing groups just group.
/// Throws Error(Format) for a malformed one, Error(Unsupported) naming what is not regular or not
/// known (back references, atomic groups), Error(Limit) beyond kMaxPatternBytes or the depth limit.
PatternTree parse_pattern(std::string_view source);

inline constexpr size_t kMaxPatternBytes = 65536;
inline constexpr uint32_t kMaxPatternRepeat = 1000;

}  // namespace tenon
