// Runs a program of a model file on a backend without an engine: one sequence, in any steps. For
// tests only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arch/architectures.h"
#include "backend/device_buffer.h"
#include "backend/registry.h"
#include "base/thread_team.h"
#include "model/placed_executable.h"
#include "weights/loader.h"

namespace tenon::golden {

/// A device of a linked-in backend, on two threads.
inline std::shared_ptr<Device> device_of(const char* backend) {
  auto team = std::make_unique<ThreadTeam>(2, System::real());
  auto services = std::make_unique<HostServices>(System::real(), Log{}, std::move(team));
  return Device::create(BackendRegistry().find(backend), std::move(services), {});
}

class ProgramRun {
 public:
  /// encoder: fills the CROSS groups and must outlive the object; may be null.
  ProgramRun(std::shared_ptr<Device> device, const ModelFile& file, const BuiltProgram& built,
             uint32_t max_positions, ProgramRun* encoder = nullptr)
      : program_(built.program.view()),
        groups_(built.program.groups()),
        encoder_(encoder),
        executable_(PlacedDevice{std::move(device)}, built.program) {
    LoadOptions load;
    load.system = System::real();
    load_weights(file, built.weights, executable_, load);
    executable_.seal();
    for (uint32_t group = 0; group < groups_.size(); ++group) add_blocks(group, max_positions);
  }
  ProgramRun(const ProgramRun&) = delete;
  ProgramRun& operator=(const ProgramRun&) = delete;

  /// Runs the next tokens of the sequence. Returns the only result: all logits of a decoder, the
  /// row of an encoder.
  ///   given  [tokens, position_parts] positions; empty: consecutive, with equal parts
  std::vector<float> run(std::span<const int32_t> tokens, std::span<const int32_t> given = {}) {
    return run_all(tokens, {}, given)[0];
  }
  /// Runs the next tokens; returns all results. input: values of the program's only input, if any.
  std::vector<std::vector<float>> run_all(std::span<const int32_t> tokens,
                                          std::span<const float> input = {},
                                          std::span<const int32_t> given = {}) {
    const auto count = static_cast<uint32_t>(tokens.size());
    std::vector<const uint32_t*> tables;
    std::vector<tenon_cache_pool> pools;
    uint32_t cross_positions = 0;
    for (uint32_t group = 0; group < groups_.size(); ++group) {
      const bool theirs = groups_[group].kind == TENON_CACHE_CROSS && encoder_ != nullptr;
      ProgramRun& owner = theirs ? *encoder_ : *this;
      const uint32_t number = theirs ? owner.cross_group() : group;
      if (theirs) cross_positions = owner.past_;
      tables.push_back(owner.table(number));
      pools.push_back({&owner.slabs_[number], 1, owner.num_blocks_[number]});
    }
    const tenon_step_sequence sequence{0, count, past_, cross_positions, tables.data()};
    std::vector<int32_t> positions(given.begin(), given.end());
    for (uint32_t i = 0; given.empty() && i < count; ++i) {
      positions.insert(positions.end(), program_.position_parts, static_cast<int32_t>(past_ + i));
    }
    const auto history = static_cast<int64_t>(program_.token_history);
    std::vector<int32_t> earlier;
    for (int64_t at = int64_t{past_} - history; at < past_; ++at) {
      earlier.push_back(at < 0 ? TENON_BEFORE_TEXT : text_[static_cast<size_t>(at)]);
    }
    text_.insert(text_.end(), tokens.begin(), tokens.end());
    std::vector<uint32_t> rows(tokens.size());
    std::iota(rows.begin(), rows.end(), 0u);
    std::vector<std::vector<float>> values;
    std::vector<tenon_binding> bindings;
    for (uint32_t i = 0; i < program_.num_results; ++i) {
      const tenon_slot& slot = program_.slots[program_.results[i]];
      const bool pooled = slot.row_class == TENON_ROWS_SEQUENCES;
      values.emplace_back((pooled ? 1 : tokens.size()) * slot.columns);
      bindings.push_back({program_.results[i], 0, values.back().data()});
    }
    for (uint32_t slot = 0; slot < program_.num_slots && !input.empty(); ++slot) {
      if (program_.slots[slot].kind != TENON_SLOT_INPUT) continue;
      bindings.push_back({slot, 0, const_cast<float*>(input.data())});
    }
    tenon_step step{};
    step.struct_size = sizeof step;
    step.num_tokens = count;
    step.num_outputs = count;
    step.num_sequences = 1;
    step.sequence_size = sizeof sequence;
    step.num_pools = program_.num_groups;
    step.num_bindings = static_cast<uint32_t>(bindings.size());
    step.binding_size = sizeof(tenon_binding);
    step.tokens = tokens.data();
    step.positions = positions.data();
    step.earlier_tokens = earlier.data();
    step.sequences = &sequence;
    step.pools = pools.data();
    step.output_rows = rows.data();
    step.bindings = bindings.data();
    verify_step(program_, step);
    executable_.run(step);
    past_ += count;
    return values;
  }

 private:
  void add_blocks(uint32_t group, uint32_t max_positions) {
    const tenon_cache_group& info = groups_[group];
    const bool theirs = info.kind == TENON_CACHE_CROSS && encoder_ != nullptr;
    const uint32_t blocks = info.kind == TENON_CACHE_STATE || theirs
                                ? 1
                                : (max_positions + info.block_tokens - 1) / info.block_tokens;
    num_blocks_.push_back(blocks);
    const DeviceBuffer& buffer = buffers_.emplace_back(
        executable_.device(), blocks * executable_.block_bytes(group), TENON_MEMORY_CACHE);
    slabs_.push_back(buffer.get());
    std::vector<uint32_t>& numbers = blocks_.emplace_back(std::max(blocks, 2u));
    std::iota(numbers.begin(), numbers.end(), 0u);
  }
  const uint32_t* table(uint32_t group) {
    std::vector<uint32_t>& numbers = blocks_[group];
    if (groups_[group].kind == TENON_CACHE_STATE) numbers = {past_ == 0 ? TENON_NO_BLOCK : 0, 0};
    return numbers.data();
  }
  [[nodiscard]] uint32_t cross_group() const {
    uint32_t group = 0;
    while (groups_[group].kind != TENON_CACHE_CROSS) ++group;
    return group;
  }

  const tenon_program& program_;
  std::span<const tenon_cache_group> groups_;
  ProgramRun* encoder_;
  PlacedExecutable executable_;
  std::vector<DeviceBuffer> buffers_;          // [groups]
  std::vector<tenon_buffer*> slabs_;           // [groups], of buffers_
  std::vector<uint32_t> num_blocks_;           // [groups]
  std::vector<std::vector<uint32_t>> blocks_;  // [groups]
  uint32_t past_ = 0;
  std::vector<int32_t> text_;  // [past]
};

}  // namespace tenon::golden
