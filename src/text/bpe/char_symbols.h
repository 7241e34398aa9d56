// Initial symbols of single characters, before merging.
#pragma once

#include <cstdint>
#include <vector>

#include "text/bpe/merge_table.h"

namespace tenon {

/// Maps a character to its initial symbol: its token, or ~code without a token.
class CharSymbols {
 public:
  CharSymbols() : pages_(kCodePoints / kPage, 0), cells_(kPage) {}

  void set(uint32_t code, Symbol symbol);
  [[nodiscard]] Symbol of(uint32_t code) const {
    const uint16_t page = pages_[code / kPage];
    return page == 0 ? ~static_cast<Symbol>(code) : cells_[page * kPage + code % kPage];
  }

 private:
  static constexpr uint32_t kCodePoints = 0x110000;
  static constexpr uint32_t kPage = 256;
  std::vector<uint16_t> pages_;  // [code / kPage] page in cells_; 0 means no tokens
  std::vector<Symbol> cells_;    // [pages, kPage]
};

inline void CharSymbols::set(uint32_t code, Symbol symbol) {
  uint16_t& page = pages_[code / kPage];
  if (page == 0) {
    page = static_cast<uint16_t>(cells_.size() / kPage);
    const uint32_t first = code / kPage * kPage;
    for (uint32_t i = 0; i < kPage; ++i) cells_.push_back(~static_cast<Symbol>(first + i));
  }
  cells_[page * kPage + code % kPage] = symbol;
}

}  // namespace tenon
