// A binding of file rows to a program's weight slot, decided by an architecture.
#pragma once

#include "program/program.h"
#include "weights/row_source.h"

namespace tenon {

/// A weight slot and its source: as many rows, in the slot's format.
struct BoundWeight {
  Slot slot;
  RowSource source;
};

}  // namespace tenon
