#include "model/model_program.h"

#include <algorithm>
#include <utility>

#include "abi/cache_rows.h"
#include "model/program_facts.h"
#include "program/cache_types.h"

namespace tenon {
namespace {

/// Makes the encoder's program, which reads a source whole.
ModelProgram encoder_beside(const ModelFile& file, const ModelSpec& spec,
                            const ModelOptions& options, ProgramOptions program) {
  program.limits = whole_text_limits(spec, options, program.limits.max_tokens);
  ModelProgram encoder =
      make_model_program(ProgramRole::Encoder, 0, build_encoder_program(file, spec, program));
  encoder.private_positions = encoder.program.view().max_tokens;
  return encoder;
}

ModelProgram prediction_beside(const ModelFile& file, const ModelSpec& spec, uint32_t index,
                               const ProgramOptions& program) {
  ModelProgram prediction = make_model_program(
      ProgramRole::Prediction, index, build_prediction_program(file, spec, index, program));
  prediction.private_positions = program.context;
  return prediction;
}

}  // namespace

ModelProgram make_model_program(ProgramRole role, uint32_t index, BuiltProgram built,
                                std::unique_ptr<PlacedExecutable> executable) {
  return {.role = role,
          .index = index,
          .program = std::move(built.program),
          .weights = std::move(built.weights),
          .tables = std::move(built.tables),
          .executable = std::move(executable),
          .adapters = std::move(built.adapters),
          .media = built.media};
}

std::vector<ModelProgram> programs_beside(const ModelFile& file, const ModelSpec& spec,
                                          const ModelOptions& options,
                                          const PlacedExecutable* trunk, bool decodes_packed) {
  StepSizes sizes;
  if (trunk != nullptr) {
    const tenon_device_info& info = trunk->device()->info();
    sizes = {info.step_tokens, info.block_tokens, decodes_packed};
  }
  ProgramOptions program = program_options(options, spec, sizes);
  program.rows_on_demand = false;
  program.adapter_slots = 0;
  program.media_rows = false;
  std::vector<ModelProgram> programs;
  if (!spec.encoder_layers.empty()) {
    programs.push_back(encoder_beside(file, spec, options, program));
  }
  if (options.predictions && !spec.pooling) {
    // At least 1, so that a model without prediction blocks is refused.
    const uint32_t blocks = std::max(spec.unused_blocks, 1u);
    for (uint32_t i = 0; i < blocks; ++i) {
      programs.push_back(prediction_beside(file, spec, i, program));
    }
  }
  if (trunk == nullptr) return programs;
  for (ModelProgram& one : programs) {
    one.executable = std::make_unique<PlacedExecutable>(PlacedDevice{trunk->device()}, one.program);
  }
  return programs;
}

uint64_t block_bytes_of(const ModelProgram& program, uint32_t number) {
  if (program.executable != nullptr) return program.executable->block_bytes(number);
  const tenon_cache_group& group = program.program.groups()[number];
  if (group.kind == TENON_CACHE_STATE) {
    return uint64_t{group.layers} * group.state_values * sizeof(float);
  }
  const CacheTypeInfo& type = *find_cache_type(group.type);
  const bool latent = group.kind == TENON_CACHE_LATENT;
  const uint64_t dims = uint64_t{group.key_dim} + (latent ? 0 : group.value_dim);
  const uint64_t head_bytes = dims * type.bits / 8 + (latent ? 1 : 2) * type.head_bytes;
  return uint64_t{group.layers} * group.kv_heads * head_bytes * backends::rows_of_block(group);
}

}  // namespace tenon
