// Parses a regular expression into a tree. pattern and pattern_search do the matching.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/unicode/char_set.h"

namespace tenon {

/// A node of the tree. Children are indices below the node's own.
struct PatternNode {
  enum Kind : uint8_t {
    Empty,     ///< matches the empty string
    Set,       ///< one character of a set
    Sequence,  ///< the children in order
    Choice,    ///< the first child that leads to a match
    Repeat,    ///< the child, minimum to maximum times
    Look,      ///< the child matches ahead (or behind), or does not; consumes nothing
    Assert,    ///< a position in the text
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
  uint32_t set = 0;      ///< Set: index into PatternTree::sets
  uint32_t minimum = 0;  ///< Repeat
  uint32_t maximum = 0;  ///< Repeat; kNoMaximum means unbounded
  std::vector<uint32_t> children;

  static constexpr uint32_t kNoMaximum = UINT32_MAX;
};

struct PatternTree {
  std::vector<PatternNode> nodes;
  std::vector<CharSet> sets;
  uint32_t root = 0;
};

/// Parses the regular part of Oniguruma's (Ruby's) syntax, which Hugging Face's tokenizers use:
/// groups, |, quantifiers (greedy, lazy, possessive), sets with nesting and &&, \p{...}, escapes,
/// (?i), look-around, anchors (^ and $ are those of lines). Capturing groups only group. Throws
/// Format for malformed patterns. Throws Unsupported, naming the construct, for non-regular or
/// unknown ones (back references, atomic groups). Throws Limit beyond kMaxPatternBytes or the depth
/// limit.
PatternTree parse_pattern(std::string_view source);

inline constexpr size_t kMaxPatternBytes = 65536;
inline constexpr uint32_t kMaxPatternRepeat = 1000;

}  // namespace tenon
