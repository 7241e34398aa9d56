// Normalization of SentencePiece: replacements from its table, white space, U+2581 for spaces.
#pragma once

#include <string>
#include <string_view>

#include "base/system.h"
#include "text/unicode/charsmap.h"

namespace tenon {

/// Normalizes texts; immutable.
class SentencePieceNormalizer {
 public:
  struct Options {
    bool add_prefix = true;  ///< add a space before a text (add_dummy_prefix)
    /// Remove spaces at both ends, and all but one between words.
    bool remove_extra_spaces = false;
    bool escape_spaces = true;     ///< replace spaces by U+2581
    bool space_as_suffix = false;  ///< put the space of add_prefix after the text
  };

  SentencePieceNormalizer(CharsMap map, Options options)
      : map_(std::move(map)), options_(options) {}

  static constexpr size_t kMaxBytes = size_t{3} << 30;  // a text of 1 GiB of spaces needs it
  static constexpr size_t kMaxGrowth = 64;              // NFKC turns one byte into 11 at most

  /// Normalizes `text`, well-formed UTF-8. at_start: adds the prefix. Linear time. Throws Limit if
  /// the result exceeds kMaxBytes, or slightly more than kMaxGrowth times the text.
  [[nodiscard]] std::string normalize(System& system, std::string_view text, bool at_start) const;

 private:
  CharsMap map_;
  Options options_;
};

}  // namespace tenon
