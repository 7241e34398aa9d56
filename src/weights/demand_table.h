// A table that stays in the file, and the input of the program that its rows go to. An architecture
// decides it; fetching rows is in row_fetcher.h.
#pragma once

#include "program/program.h"
#include "weights/row_source.h"

namespace tenon {

/// An INPUT slot [T, columns] of the program: its row t is row tokens[t] of the source, decoded.
struct DemandTable {
  Slot slot;
  RowSource source;  ///< [vocab, columns]
};

}  // namespace tenon
