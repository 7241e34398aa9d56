// SourceStep: the plain arrays of an encoder's tenon_step.
#include "engine/source_step.h"

#include <algorithm>
#include <numeric>

#include "backend/executable.h"
#include "base/error.h"

namespace tenon {
namespace {

std::shared_ptr<BlockPool> pool_of_sources(std::span<const std::shared_ptr<BlockPool>> pools) {
  const auto found = std::ranges::find_if(
      pools, [](const auto& pool) { return pool->options().kind == TENON_CACHE_CROSS; });
  if (found == pools.end()) fail(Code::Internal, "a decoder without a cache group for a source");
  return *found;
}

}  // namespace

SourceStep::SourceStep(const Model& model, std::span<const std::shared_ptr<BlockPool>> pools)
    : model_(model),
      program_(model.encoder_program().view()),
      groups_(model.encoder_program().groups()),
      source_pool_(pool_of_sources(pools)),
      cache_(groups_.size()),
      held_(groups_.size()),
      slabs_(groups_.size()) {
  const uint64_t columns = program_.slots[program_.results[0]].columns;
  row_ = Buffer(model.options().system, columns * sizeof(float), "row of a source");
}

SourceStep::~SourceStep() = default;

tenon_cache_pool SourceStep::own_pool(uint32_t group, uint64_t blocks) {
  const Executable& executable = model_.encoder_executable();
  if (blocks > held_[group]) {
    cache_[group].reset();
    held_[group] = 0;
    cache_[group].emplace(executable.device(), blocks * executable.block_bytes(group),
                          TENON_MEMORY_CACHE);
    held_[group] = blocks;
  }
  slabs_[group] = cache_[group]->get();
  return {&slabs_[group], 1, static_cast<uint32_t>(held_[group])};
}

void SourceStep::run(const Sequence& sequence, const uint32_t* cancel) {
  const std::span<const Token> tokens = sequence.source();
  const auto count = static_cast<uint32_t>(tokens.size());
  pool_views_.clear();
  tables_.clear();
  const uint32_t most_blocks = count;
  if (numbers_.size() < most_blocks) {
    numbers_.resize(most_blocks);
    std::iota(numbers_.begin(), numbers_.end(), 0u);
  }
  for (uint32_t group = 0; group < groups_.size(); ++group) {
    if (groups_[group].kind == TENON_CACHE_CROSS) {
      source_pool_->copy_slabs(source_slabs_);
      pool_views_.push_back({source_slabs_.data(), static_cast<uint32_t>(source_slabs_.size()),
                             source_pool_->blocks_per_slab()});
      tables_.push_back(sequence.cross_table()->entries().data());
      continue;
    }
    const uint32_t block_tokens = groups_[group].block_tokens;
    pool_views_.push_back(own_pool(group, (count + block_tokens - 1) / block_tokens));
    tables_.push_back(numbers_.data());
  }
  positions_.clear();
  for (uint32_t i = 0; i < count; ++i) {
    positions_.insert(positions_.end(), program_.position_parts, static_cast<int32_t>(i));
  }
  const tenon_step_sequence only{0, count, 0, 0, tables_.data()};
  const tenon_binding row{program_.results[0], 0, row_.data()};
  tenon_step step{};
  step.struct_size = sizeof step;
  step.num_tokens = count;
  step.num_sequences = 1;
  step.sequence_size = sizeof only;
  step.num_pools = static_cast<uint32_t>(pool_views_.size());
  step.num_bindings = 1;
  step.binding_size = sizeof row;
  step.tokens = tokens.data();
  step.positions = positions_.data();
  step.sequences = &only;
  step.pools = pool_views_.data();
  step.bindings = &row;
  step.cancel = cancel;
  step.after = TENON_NO_TICKET;
  model_.encoder_executable().run(step);
}

}  // namespace tenon
