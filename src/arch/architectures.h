// The list of architectures, and the way from a model file to a program. Each architecture stands
// in a file of its own name beside this one; to add one, write the file and name it in
// architectures.cpp.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "arch/decoder.h"
#include "arch/hyper_parameters.h"
#include "arch/tensor_binder.h"
#include "file/model_file.h"
#include "program/program.h"

namespace tenon {

struct Architecture {
  std::string_view name;  ///< as general.architecture says it
  /// Asks for its tensors, adds its operations, returns the logits [R, vocab].
  Slot (*build)(const HyperParameters& model, const ProgramOptions& options, TensorBinder& tensors,
                ProgramBuilder& builder);
  Presence experts = Presence::Absent;  ///< whether its feed-forward is a mixture of them
};

/// All of them, in the order of the list.
std::span<const Architecture* const> architectures();

/// A model's program and where its weights come from.
struct BuiltProgram {
  HyperParameters model;
  Program program;
  std::vector<BoundWeight> tensors;
};

/// Reads no weights but rope divisors. Throws Unsupported naming the architecture and the known
/// ones; else as read_hyper_parameters and TensorBinder.
BuiltProgram build_program(const ModelFile& file, const ProgramOptions& options);
/// The same with numbers of the caller's in place of the file's.
BuiltProgram build_program(const ModelFile& file, const HyperParameters& model,
                           const ProgramOptions& options);

}  // namespace tenon
