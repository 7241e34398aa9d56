// From the options of a model to the executable that runs its program.
#pragma once

#include <functional>
#include <memory>

#include "arch/architectures.h"
#include "backend/executable.h"
#include "model/model.h"
#include "model/program_facts.h"
#include "program/program.h"

namespace tenon {

/// Chooses the device and compiles the program on it, with the threads that the options say. Throws
/// Plugin, Unsupported, NoMemory, Argument.
std::unique_ptr<Executable> make_executable(const Program& program, const ModelOptions& options);

/// Builds a model's program for steps and blocks of these sizes.
using BuildProgram = std::function<BuiltProgram(const StepSizes& sizes)>;

/// The same for a program of the usual sizes: where the device that runs it prefers others, `built`
/// is built anew with those before it is compiled.
std::unique_ptr<Executable> make_executable(BuiltProgram& built, const ModelOptions& options,
                                            const BuildProgram& build);

}  // namespace tenon
