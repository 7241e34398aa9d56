// From the options of a model to the executable that runs its program.
#pragma once

#include <memory>

#include "backend/executable.h"
#include "model/model.h"
#include "program/program.h"

namespace tenon {

/// Chooses the device and compiles the program on it, with the threads that the options say. Throws
/// Plugin, Unsupported, NoMemory, Argument.
std::unique_ptr<Executable> make_executable(const Program& program, const ModelOptions& options);

}  // namespace tenon
