// From the options of a model to the executable that runs its program, on one device or placed over
// several.
#pragma once

#include <functional>
#include <memory>

#include "arch/architectures.h"
#include "model/model.h"
#include "model/placed_executable.h"
#include "model/program_facts.h"
#include "program/program.h"

namespace tenon {

/// Chooses the device and compiles the program on it, with the threads that the options say; of several
/// devices the first. Throws Plugin, Unsupported, NoMemory, Argument.
std::unique_ptr<PlacedExecutable> make_executable(const Program& program,
                                                  const ModelOptions& options);

/// Builds a model's program for steps and blocks of these sizes.
using BuildProgram = std::function<BuiltProgram(const StepSizes& sizes)>;

/// The same for a program of the usual sizes: where the devices that run it prefer others, `built` is
/// built anew with those before it is compiled. Where it is placed over several, its cache groups are
/// cut, too.
std::unique_ptr<PlacedExecutable> make_executable(BuiltProgram& built, const ModelOptions& options,
                                                  const BuildProgram& build);

}  // namespace tenon
