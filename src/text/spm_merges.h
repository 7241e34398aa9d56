// Turns a SentencePiece BPE vocabulary into a table of merges.
#pragma once

#include <cstdint>
#include <vector>

#include "text/merge_table.h"
#include "text/token_table.h"

namespace tenon {

/// The symbol that each single character starts as: its token, or ~code when it has none.
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
  std::vector<uint16_t> pages_;  // [code / kPage] number of the page in cells_; 0: no tokens there
  std::vector<Symbol> cells_;    // [pages, kPage]
};

struct SpmMerges {
  CharSymbols characters;
  MergeTable table;
  /// No token has a space mark after another character, so that no merge crosses the start of a
  /// word and each word can be merged alone.
  bool words_are_separate;
};

/// SentencePiece merges two neighbours whenever their joined text is a token, best score first. So
/// every way to cut a token into two symbols is a merge with the rank of its score. Time and memory
/// are in proportion to the bytes of the vocabulary (times log n for sorting).
SpmMerges make_spm_merges(const TokenTable& table);

}  // namespace tenon
