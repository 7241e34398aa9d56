#include "backends/reference/reference_step.h"

#include <algorithm>

#include "backends/reference/reference_ops.h"
#include "quant/formats.h"

namespace tenon::reference {
namespace {

const tenon_step_sequence& sequence_at(const tenon_step& step, uint32_t index) {
  const auto* bytes = reinterpret_cast<const std::byte*>(step.sequences);
  return *reinterpret_cast<const tenon_step_sequence*>(bytes +
                                                       uint64_t{index} * step.sequence_size);
}

}  // namespace

StepRun::StepRun(const Executable& executable, const tenon_step& step, StepScratch& scratch)
    : executable_(executable), step_(step), scratch_(scratch) {
  check_counts();
  check_tokens();
  place_tokens();
  const uint64_t values =
      multiply(step.num_outputs, slot(executable.program().output).columns, "logits");
  const uint64_t bytes = multiply(values, sizeof(double), "logits");
  if (bytes > scratch.logits.size()) {
    scratch.logits = HostMemory();
    scratch.logits = HostMemory(executable.host(), bytes, TENON_MEMORY_SCRATCH, "logits");
  }
}

void StepRun::check_counts() const {
  const tenon_program& program = executable_.program();
  if (step_.num_tokens > program.max_tokens || step_.num_outputs > program.max_outputs) {
    refuse(TENON_BACKEND_LIMIT, "reference: step: {} tokens and {} outputs, at most {} and {}",
           step_.num_tokens, step_.num_outputs, program.max_tokens, program.max_outputs);
  }
  const bool present =
      (step_.num_tokens == 0 || (step_.tokens != nullptr && step_.positions != nullptr)) &&
      (step_.num_outputs == 0 || (step_.output_rows != nullptr && step_.logits != nullptr)) &&
      (step_.num_sequences == 0 || step_.sequences != nullptr) &&
      (program.num_groups == 0 || step_.pools != nullptr);
  if (!present || step_.num_pools != program.num_groups ||
      (step_.num_sequences > 0 && step_.sequence_size < sizeof(tenon_step_sequence))) {
    refuse(TENON_BACKEND_ARGUMENT, "reference: step: an array is missing or too small");
  }
}

void StepRun::check_tokens() const {
  for (const tenon_op& op : executable_.ops()) {
    if (op.kind != TENON_OP_EMBED) continue;
    const uint64_t vocab = slot(op.inputs[0]).rows;
    for (uint32_t t = 0; t < step_.num_tokens; ++t) {
      const int32_t token = step_.tokens[t];
      if (token < 0 || static_cast<uint64_t>(token) >= vocab) {
        refuse(TENON_BACKEND_ARGUMENT, "reference: step: token {} of a vocabulary of {}", token,
               vocab);
      }
    }
  }
  for (uint32_t r = 0; r < step_.num_outputs; ++r) {
    if (step_.output_rows[r] >= step_.num_tokens) {
      refuse(TENON_BACKEND_ARGUMENT, "reference: step: output row {} of {} tokens",
             step_.output_rows[r], step_.num_tokens);
    }
  }
}

void StepRun::place_tokens() {
  std::fill_n(scratch_.places.begin(), step_.num_tokens, TokenPlace{});
  for (uint32_t s = 0; s < step_.num_sequences; ++s) {
    const tenon_step_sequence& sequence = sequence_at(step_, s);
    const uint64_t end = uint64_t{sequence.first_token} + sequence.num_tokens;
    const uint64_t positions = uint64_t{sequence.past} + sequence.num_tokens;
    if (end > step_.num_tokens || positions > UINT32_MAX) {
      refuse(TENON_BACKEND_ARGUMENT, "reference: step: sequence {} ends at token {} of {}", s, end,
             step_.num_tokens);
    }
    check_blocks(sequence);
    for (uint32_t i = 0; i < sequence.num_tokens; ++i) {
      scratch_.places[sequence.first_token + i] = {&sequence, sequence.past + i};
    }
  }
  if (executable_.program().num_groups == 0) return;
  for (uint32_t t = 0; t < step_.num_tokens; ++t) {
    if (scratch_.places[t].sequence != nullptr) continue;
    refuse(TENON_BACKEND_ARGUMENT, "reference: step: token {} belongs to no sequence", t);
  }
}

void StepRun::check_blocks(const tenon_step_sequence& sequence) const {
  if (sequence.num_tokens == 0) return;
  for (uint32_t g = 0; g < executable_.program().num_groups; ++g) {
    const tenon_kv_pool& pool = step_.pools[g];
    const uint64_t num_blocks = uint64_t{pool.num_slabs} * pool.blocks_per_slab;
    const uint64_t slab_bytes =
        multiply(pool.blocks_per_slab, executable_.kv_block_bytes(g), "KV slab");
    for (uint32_t s = 0; s < pool.num_slabs; ++s) {
      const auto* slab = reinterpret_cast<const DeviceBuffer*>(pool.slabs[s]);
      if (slab != nullptr && slab->memory.size() >= slab_bytes) continue;
      refuse(TENON_BACKEND_ARGUMENT, "reference: step: KV slab {} is missing or too small", s);
    }
    const uint64_t positions = uint64_t{sequence.past} + sequence.num_tokens;
    const uint64_t block_tokens = group(g).block_tokens;
    const uint64_t num_used = (positions + block_tokens - 1) / block_tokens;
    const uint32_t* table = sequence.block_tables == nullptr ? nullptr : sequence.block_tables[g];
    for (uint64_t b = 0; b < num_used; ++b) {
      if (table != nullptr && table[b] < num_blocks) continue;
      refuse(TENON_BACKEND_ARGUMENT, "reference: step: a block is not in the pool of {}",
             num_blocks);
    }
  }
}

void StepRun::run() {
  for (const tenon_op& op : executable_.ops()) {
    if (cancelled()) refuse(TENON_BACKEND_CANCELLED, "reference: cancelled");
    find_operation(op.kind)->run(*this, op);
  }
  write_logits();
}

bool StepRun::cancelled() const {
  return step_.cancel != nullptr && __atomic_load_n(step_.cancel, __ATOMIC_RELAXED) != 0;
}

void StepRun::write_logits() const {
  const Matrix logits = activation(executable_.program().output);
  for (Eigen::Index i = 0; i < logits.size(); ++i) {
    step_.logits[i] = static_cast<float>(logits.data()[i]);
  }
}

uint32_t StepRun::num_rows(uint32_t slot_number) const {
  return slot(slot_number).row_class == TENON_ROWS_OUTPUTS ? step_.num_outputs : step_.num_tokens;
}

Matrix StepRun::activation(uint32_t slot_number) const {
  double* values = executable_.activation(slot_number);
  if (values == nullptr) values = reinterpret_cast<double*>(scratch_.logits.data());
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

std::byte* StepRun::cache_row(const tenon_step_sequence& sequence, uint32_t group_number,
                              uint32_t layer, uint32_t position) const noexcept {
  const tenon_kv_group& info = group(group_number);
  const tenon_kv_pool& pool = step_.pools[group_number];
  const uint32_t block = sequence.block_tables[group_number][position / info.block_tokens];
  const auto* slab =
      reinterpret_cast<const DeviceBuffer*>(pool.slabs[block / pool.blocks_per_slab]);
  const uint64_t block_bytes = executable_.kv_block_bytes(group_number);
  const uint64_t row_bytes = block_bytes / (uint64_t{info.layers} * info.block_tokens);
  const uint64_t row = uint64_t{layer} * info.block_tokens + position % info.block_tokens;
  return slab->memory.data() + (block % pool.blocks_per_slab) * block_bytes + row * row_bytes;
}

}  // namespace tenon::reference
