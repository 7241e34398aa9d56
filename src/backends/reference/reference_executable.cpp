#include "backends/reference/reference_executable.h"

#include <algorithm>
#include <cstring>

#include "backends/reference/reference_cache.h"
#include "backends/reference/reference_ops.h"
#include "backends/reference/reference_step.h"
#include "quant/formats.h"

namespace tenon::reference {
namespace {

constexpr uint64_t kAlignment = 64;

/// Copies an array whose elements may be larger than T.
template <typename T>
std::vector<T> copy_array(const T* first, uint32_t count, uint32_t stride, const char* what) {
  if (count == 0) return {};
  if (first == nullptr || stride < sizeof(T)) {
    refuse(TENON_BACKEND_ARGUMENT, "reference: program: {} are missing or too small", what);
  }
  std::vector<T> copies(count);
  const auto* bytes = reinterpret_cast<const std::byte*>(first);
  for (uint32_t i = 0; i < count; ++i) {
    std::memcpy(&copies[i], bytes + uint64_t{i} * stride, sizeof(T));
  }
  return copies;
}

}  // namespace

void StepScratch::reserve_values(const tenon_host* host, uint64_t num_values) {
  const uint64_t bytes = multiply(num_values, sizeof(double), "scratch");
  if (bytes <= thread_values.size()) return;
  thread_values = HostMemory();
  thread_values = HostMemory(host, bytes, TENON_MEMORY_SCRATCH, "scratch");
}

Executable::Executable(const tenon_host* host, const tenon_program& program)
    : host_(host), program_(program) {
  copy_lists(program);
  check_operations();
  for (uint32_t slot = 0; slot < num_slots(); ++slot) {
    if (slots_[slot].kind == TENON_SLOT_CONSTANT) copy_constant(slot);
    if (slots_[slot].kind == TENON_SLOT_WEIGHT) allocate_weight(slot);
  }
  place_activations();
  scratch_.places.resize(program_.max_tokens);
}

Executable::~Executable() = default;

void Executable::copy_lists(const tenon_program& program) {
  slots_ = copy_array(program.slots, program.num_slots, program.slot_size, "slots");
  ops_ = copy_array(program.ops, program.num_ops, program.op_size, "operations");
  groups_ = copy_array(program.groups, program.num_groups, program.group_size, "KV groups");
  names_.reserve(slots_.size());
  for (tenon_slot& slot : slots_) {
    names_.emplace_back(slot.name == nullptr ? "" : slot.name);
    slot.name = names_.back().c_str();
  }
  program_.struct_size = sizeof(tenon_program);
  program_.slots = slots_.data();
  program_.slot_size = sizeof(tenon_slot);
  program_.ops = ops_.data();
  program_.op_size = sizeof(tenon_op);
  program_.groups = groups_.data();
  program_.group_size = sizeof(tenon_kv_group);
  constants_.resize(slots_.size());
  weights_.resize(slots_.size());
  row_bytes_.assign(slots_.size(), 0);
  offsets_.assign(slots_.size(), 0);
  rows_loaded_ = std::make_unique<std::atomic<uint64_t>[]>(slots_.size());
}

void Executable::check_operations() const {
  for (uint32_t i = 0; i < program_.num_ops; ++i) {
    const auto shape = find_shape(program_, i);
    if (shape && fits(*shape)) continue;
    const Operation* operation = find_operation(ops_[i].kind);
    refuse(TENON_BACKEND_UNSUPPORTED, "reference: operation {} ({}) is not supported as given", i,
           operation == nullptr ? "unknown" : operation->name);
  }
  const bool output =
      program_.output < num_slots() && is_activation(&slots_[program_.output], TENON_ROWS_OUTPUTS);
  if (!output) refuse(TENON_BACKEND_ARGUMENT, "reference: program: the output is no activation");
  for (uint32_t i = 0; i < program_.num_groups; ++i) (void)kv_block_bytes(i);
}

void Executable::copy_constant(uint32_t slot) {
  const tenon_slot& info = slots_[slot];
  if (info.type != TENON_TYPE_F64 || info.data == nullptr) {
    refuse(TENON_BACKEND_UNSUPPORTED, "reference: constant \"{}\" is not f64", info.name);
  }
  const uint64_t values = multiply(info.rows, info.columns, info.name);
  constants_[slot].resize(values);
  std::memcpy(constants_[slot].data(), info.data, values * sizeof(double));
  slots_[slot].data = nullptr;
}

void Executable::allocate_weight(uint32_t slot) {
  const tenon_slot& info = slots_[slot];
  const FormatInfo* format = find_format(info.type);
  const auto bytes = format == nullptr ? std::nullopt : row_bytes(*format, info.columns);
  if (!bytes) {
    refuse(TENON_BACKEND_UNSUPPORTED, "reference: weight \"{}\" has type {} and {} columns",
           info.name, info.type, info.columns);
  }
  row_bytes_[slot] = *bytes;
  weights_[slot] =
      HostMemory(host_, multiply(*bytes, info.rows, info.name), TENON_MEMORY_WEIGHTS, info.name);
}

// The host's plan is for f32; the same plan with every offset doubled is one for f64. Slots without
// a plan get their own place behind it.
void Executable::place_activations() {
  uint64_t area = multiply(program_.activation_bytes, 2, "activations");
  const uint64_t planned = area;
  for (uint32_t slot = 0; slot < num_slots(); ++slot) {
    const tenon_slot& info = slots_[slot];
    if (info.kind != TENON_SLOT_ACTIVATION || slot == program_.output) continue;
    const uint64_t rows =
        info.row_class == TENON_ROWS_OUTPUTS ? program_.max_outputs : program_.max_tokens;
    const uint64_t bytes =
        multiply(multiply(rows, info.columns, info.name), sizeof(double), info.name);
    const bool has_plan = info.plan_offset != TENON_NO_PLAN;
    offsets_[slot] = has_plan ? multiply(info.plan_offset, 2, info.name) : area;
    const uint64_t end = add(offsets_[slot], bytes, info.name);
    if (has_plan && (end > planned || offsets_[slot] % alignof(double) != 0)) {
      refuse(TENON_BACKEND_ARGUMENT, "reference: slot \"{}\" leaves the planned area", info.name);
    }
    if (!has_plan) area = add(end, kAlignment - 1, info.name) / kAlignment * kAlignment;
  }
  area_ = HostMemory(host_, area, TENON_MEMORY_SCRATCH, "activations");
}

double* Executable::activation(uint32_t slot) const {
  if (slot == program_.output) return nullptr;
  return reinterpret_cast<double*>(area_.data() + offsets_[slot]);
}

uint64_t Executable::kv_block_bytes(uint32_t group) const {
  const tenon_kv_group& info = groups_[group];
  const uint64_t head =
      cache_head_bytes(info.type, info.key_dim) + cache_head_bytes(info.type, info.value_dim);
  const uint64_t rows = multiply(info.layers, info.block_tokens, "KV block");
  return multiply(multiply(info.kv_heads, head, "KV block"), rows, "KV block");
}

void Executable::load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows, const void* blocks,
                           uint64_t size_bytes) {
  if (sealed_) refuse(TENON_BACKEND_STATE, "reference: load_rows after seal");
  if (slot >= num_slots() || slots_[slot].kind != TENON_SLOT_WEIGHT) {
    refuse(TENON_BACKEND_ARGUMENT, "reference: slot {} is no weight", slot);
  }
  const tenon_slot& info = slots_[slot];
  if (first_row > info.rows || num_rows > info.rows - first_row) {
    refuse(TENON_BACKEND_ARGUMENT, "reference: weight \"{}\": {} rows from {} of {}", info.name,
           num_rows, first_row, info.rows);
  }
  if (size_bytes != num_rows * row_bytes_[slot] || (size_bytes > 0 && blocks == nullptr)) {
    refuse(TENON_BACKEND_ARGUMENT, "reference: weight \"{}\": {} bytes for {} rows of {}",
           info.name, size_bytes, num_rows, row_bytes_[slot]);
  }
  if (size_bytes == 0) return;
  std::memcpy(weights_[slot].data() + first_row * row_bytes_[slot], blocks, size_bytes);
  rows_loaded_[slot].fetch_add(num_rows, std::memory_order_relaxed);
}

void Executable::seal() {
  for (uint32_t slot = 0; slot < num_slots(); ++slot) {
    if (slots_[slot].kind != TENON_SLOT_WEIGHT) continue;
    const uint64_t loaded = rows_loaded_[slot].load(std::memory_order_relaxed);
    if (loaded < slots_[slot].rows) {
      refuse(TENON_BACKEND_STATE, "reference: weight \"{}\": {} of {} rows are loaded",
             slots_[slot].name, loaded, slots_[slot].rows);
    }
  }
  sealed_ = true;
}

uint64_t Executable::run(const tenon_step& step) {
  if (!sealed_) refuse(TENON_BACKEND_STATE, "reference: run before seal");
  StepRun(*this, step, scratch_).run();
  return ++last_ticket_;
}

void Executable::wait(uint64_t ticket) const {
  if (ticket == 0 || ticket > last_ticket_) {
    refuse(TENON_BACKEND_ARGUMENT, "reference: ticket {} of {}", ticket, last_ticket_);
  }
}

uint64_t Executable::memory_bytes(uint32_t purpose) const {
  uint64_t bytes = 0;
  for (const HostMemory& weight : weights_) {
    if (weight.purpose() == purpose) bytes += weight.size();
  }
  for (const HostMemory* scratch : {&area_, &scratch_.thread_values, &scratch_.logits}) {
    if (scratch->purpose() == purpose) bytes += scratch->size();
  }
  return bytes;
}

}  // namespace tenon::reference
