// Which tensor of a file fills which weight of a program. Who decides it is an architecture.
#pragma once

#include <cstddef>

#include "program/program.h"

namespace tenon {

/// A weight slot of the program and the tensor that fills it.
struct BoundTensor {
  Slot slot;
  size_t tensor;  ///< number in ModelFile::tensors()
};

}  // namespace tenon
