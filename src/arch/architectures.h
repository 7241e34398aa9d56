// The way from a model file to a program, over the architecture that the file names.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "arch/architecture.h"
#include "arch/build_context.h"
#include "arch/model_spec.h"
#include "arch/tensor_binder.h"
#include "file/model_file.h"
#include "program/program.h"
#include "weights/demand_table.h"

namespace tenon {

struct NamedArchitecture {
  std::string_view name;  ///< as general.architecture says it
  const Architecture* architecture;
};

/// All of them, in the order of the list.
std::span<const NamedArchitecture> architectures();

/// The specification of a file's model. The vocabulary is the tokenizer's tokens, at most as many
/// as the embedding has rows. Throws Unsupported for an architecture that does not run, with the
/// reason or the nearest known name; Format and Unsupported as Architecture::read.
ModelSpec read_model_spec(const ModelFile& file);

/// Throws Unsupported, with the reason, if the file's architecture does not run.
void check_architecture(const ModelFile& file);

/// Whether a file is meant for rows of texts: an encoder, or a decoder with a pooling.
bool asks_for_rows(const ModelFile& file, const ModelSpec& model);

/// The same model without logits: its program gives rows (ModelSpec::pooling; of a decoder the last
/// token's where the file says nothing). Throws as read_pooling and read_classifier.
ModelSpec row_spec(const ModelFile& file, ModelSpec model);

/// A model's program and where its weights come from.
struct BuiltProgram {
  ModelSpec model;
  Program program;
  std::vector<BoundWeight> weights;  ///< point into the file's tensors
  std::vector<DemandTable> tables;   ///< the same; with ProgramOptions::rows_on_demand
};

/// Reads no weights but rope divisors. Throws as read_model_spec and TensorBinder.
BuiltProgram build_program(const ModelFile& file, const ProgramOptions& options);
/// The same with a specification of the caller's in place of the file's.
BuiltProgram build_program(const ModelFile& file, const ModelSpec& model,
                           const ProgramOptions& options);

/// The program that fills the CROSS groups of build_program's. Throws State for models without one.
BuiltProgram build_encoder_program(const ModelFile& file, const ModelSpec& model,
                                   const ProgramOptions& options);

/// The program of prediction block `index` (prediction.h). It has cache groups of its own, which
/// can come from the pools of the model's. Throws as prediction_of and build_program.
BuiltProgram build_prediction_program(const ModelFile& file, const ModelSpec& model, uint32_t index,
                                      const ProgramOptions& options);

/// The tensors that a file of these metadata holds or may hold. "vocab_size" is its vocabulary.
/// Throws as read_model_spec.
std::vector<WantedTensor> wanted_tensors(const Metadata& metadata);

}  // namespace tenon
