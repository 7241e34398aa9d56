// What is known of a model's program before anything runs it.
#pragma once

#include "arch/build_context.h"
#include "model/model.h"

namespace tenon {

/// What the program of a model opened so looks like. Throws Argument for an unknown cache type.
ProgramOptions program_options(const ModelOptions& options);

/// A copy of what program and backend depend on; silent, as whoever loads the model hears of it.
ModelOptions runtime_options(const ModelOptions& options);

StepWork step_work(const Program& program);

/// Multiply-accumulates of attention for one token and one position that it sees, in all layers.
uint64_t attention_multiplications(const Program& program);

/// Bytes that reading a chunk of the file takes for each thread while weights are loaded.
uint64_t loading_bytes_per_thread();

}  // namespace tenon
