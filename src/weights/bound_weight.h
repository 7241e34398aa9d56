// Which rows of a file fill which weight of a program. An architecture decides it.
#pragma once

#include "program/program.h"
#include "weights/row_source.h"

namespace tenon {

/// A weight slot of the program and what fills it: as many rows, in the slot's format.
struct BoundWeight {
  Slot slot;
  RowSource source;
};

}  // namespace tenon
