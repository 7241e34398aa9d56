// What SentencePiece does to a text before it looks for pieces: replacements of its table, white
// space, U+2581 for a space.
#pragma once

#include <string>
#include <string_view>

#include "base/system.h"
#include "text/unicode/charsmap.h"

namespace tenon {

/// Immutable.
class SentencePieceNormalizer {
 public:
  struct Options {
    bool add_prefix = true;            ///< a space before a text (add_dummy_prefix)
    bool remove_extra_spaces = false;  ///< at both ends, and all but one between words
    bool escape_spaces = true;         ///< U+2581 for a space
    bool space_as_suffix = false;      ///< the space of add_prefix goes after the text
  };

  SentencePieceNormalizer(CharsMap map, Options options)
      : map_(std::move(map)), options_(options) {}

  static constexpr size_t kMaxBytes = size_t{3} << 30;  // of a text of 1 GiB that is all spaces
  static constexpr size_t kMaxGrowth = 64;              // NFKC makes 11 bytes of one at most

  /// text: well-formed UTF-8; at_start: whether the prefix is wanted. Linear time. Throws
  /// Error(Limit) when replacements make more than kMaxBytes of it, or kMaxGrowth times its size
  /// and a little.
  [[nodiscard]] std::string normalize(System& system, std::string_view text, bool at_start) const;

 private:
  CharsMap map_;
  Options options_;
};

}  // namespace tenon
