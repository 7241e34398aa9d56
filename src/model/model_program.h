// The programs of a model: one is a list of them, found by role and index (Model::find).
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

/// What a program of a model computes.
enum class ProgramRole : uint8_t {
  Trunk,       ///< logits, or rows of texts; every model has this program
  Encoder,     ///< the rows of a source, in the CROSS groups of the trunk
  Prediction,  ///< a further token, from what the trunk or the block before gives (prediction.h)
  Vision,      ///< rows of a picture
  Audio,       ///< rows of a sound
  Draft,       ///< guesses for the trunk
};

/// Operations and weights, and what runs them.
struct ModelProgram {
  ProgramRole role = ProgramRole::Trunk;
  uint32_t index = 0;  ///< among the programs of the role
  Program program;
  std::vector<BoundWeight> weights;  ///< until they are loaded
  std::vector<DemandTable> tables;   ///< that stay in the file
  /// Positions that a caller's PrivateCache has room for: scratch of the model. 0: the cache is an
  /// engine's.
  uint64_t private_positions = 0;
  std::unique_ptr<PlacedExecutable> executable{};  ///< null: nothing runs the program
  std::unique_ptr<RowFetcher> fetcher{};           ///< null: no tables, or no executable
};

ModelProgram make_model_program(ProgramRole role, uint32_t index, BuiltProgram built,
                                std::unique_ptr<PlacedExecutable> executable = {});

/// The programs of a model beside its trunk: the encoder, prediction blocks. They run on the device
/// of the trunk's logits. trunk: null: nothing runs the model yet.
std::vector<ModelProgram> programs_beside(const ModelFile& file, const ModelSpec& spec,
                                          const ModelOptions& options,
                                          const PlacedExecutable* trunk);

/// Bytes of a block of the program's cache; without an executable those of its keys and values alone.
uint64_t block_bytes_of(const ModelProgram& program, uint32_t group);

}  // namespace tenon
