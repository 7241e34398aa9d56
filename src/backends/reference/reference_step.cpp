#include "backends/reference/reference_step.h"

#include <algorithm>

#include "backends/common/host_buffer.h"
#include "backends/common/step_rules.h"
#include "backends/reference/reference_ops.h"
#include "quant/formats.h"

namespace tenon::reference {

using backends::multiply;
using backends::refuse;

StepRun::StepRun(const Executable& executable, const tenon_step& step, StepScratch& scratch)
    : executable_(executable), step_(step), scratch_(scratch) {
  backends::check_step(executable.copy(), step, executable.block_bytes(), true);
  place_tokens();
  reserve_bound();
}

void StepRun::place_tokens() {
  const Strided<tenon_step_sequence> sequences = sequences_of(step_);
  for (uint32_t s = 0; s < sequences.size(); ++s) {
    const tenon_step_sequence& sequence = sequences[s];
    for (uint32_t i = 0; i < sequence.num_tokens; ++i) {
      scratch_.places[sequence.first_token + i] = {&sequence, sequence.past + i};
    }
  }
}

void StepRun::reserve_bound() {
  for (const uint32_t i : executable_.copy().bound()) {
    const uint64_t values = multiply(num_rows(i), slot(i).columns, slot(i).name);
    const uint64_t bytes = multiply(values, sizeof(double), slot(i).name);
    HostMemory& memory = scratch_.bound_values[i];
    if (bytes <= memory.size()) continue;
    memory = HostMemory();
    memory = HostMemory(executable_.host(), bytes, TENON_MEMORY_SCRATCH, slot(i).name);
  }
}

void StepRun::run() {
  for (uint32_t i = 0; i < executable_.num_slots(); ++i) {
    if (slot(i).kind == TENON_SLOT_INPUT) read_input(i);
  }
  for (const tenon_op& op : executable_.ops()) {
    if (cancelled()) refuse(TENON_BACKEND_CANCELLED, "cancelled");
    find_operation(op.kind)->run(*this, op);
  }
  for (const uint32_t result : executable_.results()) write_result(result);
}

void StepRun::read_input(uint32_t number) const {
  Matrix values = activation(number);
  const auto* from = static_cast<const float*>(backends::bound_memory(step_, number));
  std::copy_n(from, values.size(), values.data());
}

void StepRun::write_result(uint32_t number) const {
  const Matrix values = activation(number);
  void* to = backends::bound_memory(step_, number);
  if (to == nullptr) return;  // logits that are only drawn from
  const auto write = [&](auto* typed) {
    for (Eigen::Index i = 0; i < values.size(); ++i) {
      typed[i] = static_cast<std::remove_pointer_t<decltype(typed)>>(values.data()[i]);
    }
  };
  if (slot(number).type == TENON_TYPE_I32) {
    write(static_cast<int32_t*>(to));
  } else {
    write(static_cast<float*>(to));
  }
}

bool StepRun::cancelled() const {
  return step_.cancel != nullptr && __atomic_load_n(step_.cancel, __ATOMIC_RELAXED) != 0;
}

uint32_t StepRun::num_rows(uint32_t slot_number) const {
  return backends::num_rows(step_, slot(slot_number).row_class);
}

Matrix StepRun::activation(uint32_t slot_number) const {
  double* values = executable_.is_bound(slot_number)
                       ? reinterpret_cast<double*>(scratch_.bound_values[slot_number].data())
                       : executable_.activation(slot_number);
  return {values, static_cast<Eigen::Index>(num_rows(slot_number)),
          static_cast<Eigen::Index>(slot(slot_number).columns)};
}

void StepRun::weight_row(uint32_t slot_number, uint64_t row, double* out) const noexcept {
  constexpr uint64_t kPart = 256;  // whole blocks of every format
  const tenon_slot& info = slot(slot_number);
  const FormatInfo& format = *find_format(info.type);
  const std::byte* blocks = executable_.weight_row(slot_number, row);
  float decoded[kPart];
  for (uint64_t first = 0; first < info.columns; first += kPart) {
    const uint64_t count = std::min(kPart, info.columns - first);
    format.decode_row(blocks + first / format.block_values * format.block_bytes, decoded, count);
    std::copy_n(decoded, count, out + first);
  }
}

std::vector<double> StepRun::weight_vector(uint32_t slot_number) const {
  if (slot_number == TENON_NO_SLOT) return {};
  std::vector<double> values(slot(slot_number).columns);
  weight_row(slot_number, 0, values.data());
  return values;
}

std::vector<double> StepRun::weight_rows(uint32_t slot_number) const {
  if (slot_number == TENON_NO_SLOT) return {};
  const tenon_slot& info = slot(slot_number);
  std::vector<double> values(info.rows * info.columns);
  for (uint64_t row = 0; row < info.rows; ++row) {
    weight_row(slot_number, row, values.data() + row * info.columns);
  }
  return values;
}

std::byte* StepRun::cache_row(const tenon_step_sequence& sequence, uint32_t group_number,
                              uint32_t layer, uint32_t position) const noexcept {
  const tenon_cache_group& info = group(group_number);
  const uint32_t block = sequence.block_tables[group_number][position / info.block_tokens];
  const uint64_t row_bytes =
      executable_.block_bytes(group_number) / (uint64_t{info.layers} * info.block_tokens);
  const uint64_t row = uint64_t{layer} * info.block_tokens + position % info.block_tokens;
  return block_address(group_number, block) + row * row_bytes;
}

std::byte* StepRun::block_address(uint32_t group_number, uint32_t block) const noexcept {
  const tenon_cache_pool& pool = step_.pools[group_number];
  const backends::HostBuffer* slab =
      backends::host_buffer(pool.slabs[block / pool.blocks_per_slab]);
  return slab->memory.data() +
         (block % pool.blocks_per_slab) * executable_.block_bytes(group_number);
}

float* StepRun::begin_state(const tenon_step_sequence& sequence, const tenon_state_params& state,
                            uint64_t num_values) const noexcept {
  const backends::StateBlocks blocks = backends::state_blocks(sequence, state.group);
  const uint64_t first = uint64_t{state.layer} * group(state.group).state_values + state.offset;
  const auto values_of = [&](uint32_t block) {
    return reinterpret_cast<float*>(block_address(state.group, block)) + first;
  };
  float* values = values_of(blocks.write);
  if (blocks.read == TENON_NO_BLOCK) {
    std::fill_n(values, num_values, 0.0f);
  } else if (blocks.read != blocks.write) {
    std::copy_n(values_of(blocks.read), num_values, values);
  }
  return values;
}

}  // namespace tenon::reference
