// A table that stays in the file, and the program input that gets its rows. An architecture decides
// it; row_fetcher.h fetches rows.
#pragma once

#include <cstdint>
#include <vector>

#include "program/operations.h"
#include "weights/row_source.h"

namespace tenon {

/// An INPUT slot [T, rows_per_token() columns]. Row t is row tokens[t] of the source, decoded; with
/// `ngrams`, the concatenated rows that its heads find for token t.
struct DemandTable {
  Slot slot;
  RowSource source;  ///< [rows, columns]
  NgramLookup ngrams{};

  [[nodiscard]] uint32_t rows_per_token() const {
    return ngrams.heads.empty() ? 1 : static_cast<uint32_t>(ngrams.heads.size());
  }
};

}  // namespace tenon
