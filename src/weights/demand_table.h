// A table that stays in the file, and the input of the program that its rows go to. An architecture
// decides it; fetching rows is in row_fetcher.h.
#pragma once

#include <cstdint>
#include <vector>

#include "program/operations.h"
#include "weights/row_source.h"

namespace tenon {

/// An INPUT slot [T, rows_per_token() columns] of the program: its row t is row tokens[t] of the source,
/// decoded, or the rows that the heads of `ngrams` find for token t, side by side.
struct DemandTable {
  Slot slot;
  RowSource source;  ///< [rows, columns]
  NgramLookup ngrams{};

  [[nodiscard]] uint32_t rows_per_token() const {
    return ngrams.heads.empty() ? 1 : static_cast<uint32_t>(ngrams.heads.size());
  }
};

}  // namespace tenon
