// The programs of a model, found by role and index (Model::find).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "arch/architectures.h"
#include "model/placed_executable.h"
#include "program/program.h"
#include "weights/bound_weight.h"
#include "weights/demand_table.h"
#include "weights/row_fetcher.h"

namespace tenon {

struct ModelOptions;

/// Purpose of a program.
enum class ProgramRole : uint8_t {
  Trunk,    ///< logits, or rows of texts; every model has a trunk
  Encoder,  ///< rows of a source, written to the trunk's CROSS groups
  /// A further token, from hidden states of the trunk or the previous block (prediction.h).
  Prediction,
  Vision,  ///< rows of an image
  Audio,   ///< rows of audio
  Draft,   ///< draft tokens for the trunk
};

/// Operations, weights and the executable that runs them.
struct ModelProgram {
  ProgramRole role = ProgramRole::Trunk;
  uint32_t index = 0;  ///< within the role
  Program program;
  std::vector<BoundWeight> weights;  ///< empty once loaded
  std::vector<DemandTable> tables;   ///< tables that stay in the file
  /// Positions in a caller's PrivateCache, counted as the model's scratch; 0 if an engine owns the
  /// cache.
  uint64_t private_positions = 0;
  std::unique_ptr<PlacedExecutable> executable{};  ///< null if the program cannot run
  AdapterSites adapters{};                         ///< sites of the bank; none without one
  std::unique_ptr<RowFetcher> fetcher{};           ///< null without tables or executable
  MediaInputs media{};                             ///< rows of pictures; none without a tower
};

ModelProgram make_model_program(ProgramRole role, uint32_t index, BuiltProgram built,
                                std::unique_ptr<PlacedExecutable> executable = {});

/// Makes the programs beside the trunk: encoder and prediction blocks. They run on the device of
/// the trunk's logits.
///   trunk           null if the model cannot run yet
///   decodes_packed  as the trunk's (ProgramOptions)
std::vector<ModelProgram> programs_beside(const ModelFile& file, const ModelSpec& spec,
                                          const ModelOptions& options,
                                          const PlacedExecutable* trunk, bool decodes_packed);

/// Bytes of a block of the program's cache; without an executable, of its keys and values only.
uint64_t block_bytes_of(const ModelProgram& program, uint32_t group);

}  // namespace tenon
