// Cuts a text where no token can cross: into words that a tokenizer may encode one by one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "text/tokenizer/token_table.h"

namespace tenon {

/// Boundaries before spaces. Published vocabularies have a few tokens that reach into another word
/// (">▁</" in Gemma's), so the class records, per byte, whether a token may have a space after it.
class WordBoundaries {
 public:
  /// space: its spelling in texts, " " or U+2581.
  explicit WordBoundaries(std::string_view space) : space_(space) {}

  /// Records a token, or the result of a merge. It may spell spaces in either way.
  void add(std::string_view token) {
    for (size_t at = 0; at < token.size();) {
      const bool is_mark = token.substr(at).starts_with(kSpaceMark);
      const bool is_space = is_mark || token[at] == ' ';
      if (is_space && at > 0) {
        const bool after_space = token[at - 1] == ' ' || token.substr(0, at).ends_with(kSpaceMark);
        if (after_space) joins_[' '] = joins_[static_cast<uint8_t>(kSpaceMark.back())] = 1;
        joins_[static_cast<uint8_t>(token[at - 1])] = 1;
      }
      at += is_mark ? kSpaceMark.size() : 1;
    }
  }

  /// The next boundary after `begin`, which must be a boundary; the end of the text if none
  /// follows.
  [[nodiscard]] size_t next(std::string_view text, size_t begin) const {
    for (size_t at = text.find(space_, begin + 1); at < text.size();
         at = text.find(space_, at + 1)) {
      if (joins_[static_cast<uint8_t>(text[at - 1])] == 0) return at;
    }
    return text.size();
  }

 private:
  std::string_view space_;
  std::array<uint8_t, 256> joins_{};  // 1 if some token has a space after this byte
};

}  // namespace tenon
