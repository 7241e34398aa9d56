// From a model file to a program, by the architecture that the file names.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "arch/adapter/adapter_sites.h"
#include "arch/architecture.h"
#include "arch/build_context.h"
#include "arch/model_spec.h"
#include "arch/tensor_binder.h"
#include "file/model_file.h"
#include "program/program.h"
#include "weights/demand_table.h"

namespace tenon {

struct NamedArchitecture {
  std::string_view name;  ///< value of general.architecture
  const Architecture* architecture;
};

/// All architectures, in list order.
std::span<const NamedArchitecture> architectures();

/// Specification of a file's model. The vocabulary is the tokenizer's tokens, at most one per
/// embedding row. Throws Unsupported for an architecture that does not run, with the reason or the
/// nearest known name; Format and Unsupported as Architecture::read.
ModelSpec read_model_spec(const ModelFile& file);

/// Throws Unsupported, with the reason, if the file's architecture does not run.
void check_architecture(const ModelFile& file);

/// True if a file is meant for rows of texts: an encoder, or a decoder with a pooling.
bool asks_for_rows(const ModelFile& file, const ModelSpec& model);

/// The model without logits: its program gives rows (ModelSpec::pooling; a decoder's last token by
/// default). Throws as read_pooling and read_classifier.
ModelSpec row_spec(const ModelFile& file, ModelSpec model);

/// A model's program and the sources of its weights.
struct BuiltProgram {
  ModelSpec model;
  Program program;
  std::vector<BoundWeight> weights;  ///< point into the file's tensors
  /// Point into the file's tensors; with ProgramOptions::rows_on_demand.
  std::vector<DemandTable> tables;
  AdapterSites adapters{};  ///< with ProgramOptions::adapter_slots
  MediaInputs media{};      ///< with ProgramOptions::media_rows
};

/// Builds a model's program. Reads no weights except rope divisors. Throws as read_model_spec and
/// TensorBinder.
BuiltProgram build_program(const ModelFile& file, const ProgramOptions& options);
/// Builds with the caller's specification instead of the file's.
BuiltProgram build_program(const ModelFile& file, const ModelSpec& model,
                           const ProgramOptions& options);

/// Builds the program that fills the CROSS groups of build_program's. Throws State for models
/// without an encoder.
BuiltProgram build_encoder_program(const ModelFile& file, const ModelSpec& model,
                                   const ProgramOptions& options);

/// Builds the program of prediction block `index` (prediction.h). It has its own cache groups,
/// which may use the pools of the model. Throws as prediction_of and build_program.
BuiltProgram build_prediction_program(const ModelFile& file, const ModelSpec& model, uint32_t index,
                                      const ProgramOptions& options);

/// Tensors that a file with this metadata holds or may hold. "vocab_size" is its vocabulary. Throws
/// as read_model_spec.
std::vector<WantedTensor> wanted_tensors(const Metadata& metadata);

}  // namespace tenon
