// Makes the executable of a model's program from its options, on one device or placed over several.
#pragma once

#include <functional>
#include <memory>

#include "arch/architectures.h"
#include "model/model.h"
#include "model/placed_executable.h"
#include "model/program_facts.h"
#include "program/program.h"

namespace tenon {

/// Chooses the device and compiles the program on it, with the threads of the options; uses the
/// first of several devices. Throws Plugin, Unsupported, NoMemory, Argument.
std::unique_ptr<PlacedExecutable> make_executable(const Program& program,
                                                  const ModelOptions& options);

/// Builds a model's program for these sizes of steps and blocks.
using BuildProgram = std::function<BuiltProgram(const StepSizes& sizes)>;

/// Compiles a program of the default sizes. Rebuilds `built` first if its devices prefer other
/// sizes, or cannot all read its weights in formats of memory: then these are decoded. Placement
/// over several devices also splits its cache groups.
std::unique_ptr<PlacedExecutable> make_executable(BuiltProgram& built, const ModelOptions& options,
                                                  const BuildProgram& build);

}  // namespace tenon
