#include "backends/gpu/stage_builder.h"

#include <algorithm>

#include "abi/recurrence.h"
#include "abi/step_rules.h"
#include "backends/gpu/cache_layout.h"
#include "backends/gpu/stage_operations.h"
#include "backends/gpu/weight_rows.h"

namespace tenon::gpu {
namespace {

/// Vulkan's guaranteed minimum per dimension; CUDA guarantees as much.
constexpr uint64_t kMostGroups = 65535;
/// Exceeds the parameters of any kernel.
constexpr uint64_t kMostParameters = 256;
/// Most stages per operation.
constexpr uint64_t kMostStages = 4;

uint32_t quotient(uint64_t items, uint64_t of_group) {
  return static_cast<uint32_t>(
      std::clamp<uint64_t>((items + of_group - 1) / of_group, 1, kMostGroups));
}

/// A cache layer as an extent, beyond all addresses.
Extent layer_extent(uint32_t group, uint32_t layer) {
  const uint64_t place = uint64_t{1} << 63 | uint64_t{group} << 32 | layer;
  return {place, place + 1};
}

/// True for operations that may rotate queries in scratch memory. Their parameters share a prefix.
bool is_selection(uint32_t kind) {
  return kind == TENON_OP_SELECT || kind == TENON_OP_SELECT_BLOCKS ||
         kind == TENON_OP_SELECT_CANDIDATES || kind == TENON_OP_SELECT_WITHIN;
}

bool is_written(const tenon_op& op) {
  return op.kind == TENON_OP_KV_WRITE || backends::is_recurrent(op.kind);
}

}  // namespace

Address ConstantImage::put(const void* bytes, uint64_t size) {
  const uint64_t first = (bytes_.size() + 7) / 8 * 8;
  if (first + size > capacity_) backends::refuse(TENON_BACKEND_INTERNAL, "constants do not fit");
  bytes_.resize(first + size);
  if (size > 0) std::memcpy(bytes_.data() + first, bytes, size);
  return address_ + first;
}

uint64_t ConstantImage::most_bytes(const backends::ProgramCopy& program) {
  uint64_t bytes = program.ops().size() * kMostStages * kMostParameters;
  for (const tenon_op& op : program.ops()) {
    if (op.kind == TENON_OP_ROPE_ANGLES) {
      bytes += program.slots()[op.inputs[0]].columns * (sizeof(uint64_t) + sizeof(uint32_t)) + 16;
    }
    if (op.kind == TENON_OP_ATTENTION && op.inputs[2] != TENON_NO_SLOT) {
      const tenon_slot& bias = program.slots()[op.inputs[2]];
      bytes += std::max(bias.rows, bias.columns) * sizeof(float) + 8;
    }
  }
  return bytes;
}

uint64_t StageBuilder::scratch_bytes(const backends::ProgramCopy& copy) {
  using backends::multiply;
  uint64_t most = 0;
  for (const tenon_op& op : copy.ops()) {
    const tenon_slot& x = copy.slots()[op.inputs[0] == TENON_NO_SLOT ? 0 : op.inputs[0]];
    if (op.kind == TENON_OP_MOE_ROUTE) {
      const uint64_t keys = x.columns + op.params.moe_route.groups;
      const uint64_t rows = backends::max_rows(copy.view(), x.row_class);
      most = std::max(most, multiply(rows, keys * sizeof(uint32_t), "routes"));
    }
    if (is_selection(op.kind) && copy.groups()[op.params.select.group].type == TENON_CACHE_Q4) {
      most = std::max(most, multiply(copy.view().max_tokens, x.columns * sizeof(float), "queries"));
    }
  }
  return most;
}

CacheLayer StageBuilder::cache(uint32_t number, uint32_t layer) const {
  return cache_layer(group(number), number, layer);
}

StateLayer StageBuilder::state(const tenon_state_params& params) const {
  return state_layer(group(params.group), params);
}

StageBuilder::Decoder StageBuilder::decoder(uint32_t weight) const {
  const uint32_t type = places_.is_small[weight] != 0 ? TENON_TYPE_F32 : slot(weight).type;
  const FormatInfo& format = *find_format(type);
  return {type, format.block_values, static_cast<uint32_t>(block_stride(format) / kWordBytes)};
}

uint32_t StageBuilder::by_threads(uint64_t items) const {
  return quotient(items, limits.group_threads);
}
uint32_t StageBuilder::by_subgroups(uint64_t items) const {
  return quotient(items, limits.group_threads / limits.subgroup_size);
}
uint32_t StageBuilder::by_groups(uint64_t items) { return quotient(items, 1); }

std::vector<Stage> StageBuilder::build() {
  for (op_number = 0; op_number < program.ops().size(); ++op_number) {
    const tenon_op& op = program.ops()[op_number];
    find_operation(op.kind)->add(*this, op);
  }
  return std::move(stages_);
}

bool StageBuilder::is_alternative(const Grid& grid) const {
  return op_of_last_ == op_number && stages_.back().row_class == grid.row_class &&
         stages_.back().most_rows < grid.least_rows;
}

void StageBuilder::add_stage(Kernel kernel, std::initializer_list<uint32_t> constants,
                             Address parameters, const Grid& grid) {
  const tenon_op& op = program.ops()[op_number];
  const auto shape = *plain::find_shape(program.view(), op_number);
  std::vector<Extent> reads;
  std::vector<Extent> writes;
  const auto note = [&](std::vector<Extent>& list, uint32_t number) {
    if (number == TENON_NO_SLOT) return;
    const tenon_slot& info = slot(number);
    if (info.kind != TENON_SLOT_ACTIVATION && info.kind != TENON_SLOT_INPUT) return;
    const uint64_t rows = backends::max_rows(program.view(), info.row_class);
    list.push_back({address(number), address(number) + rows * info.columns * sizeof(float)});
  };
  for (const uint32_t input : op.inputs) note(reads, input);
  for (const uint32_t output : op.outputs) note(writes, output);
  if (shape.group != nullptr) {  // all parameter structs with a group begin with group and layer
    const tenon_kv_params& kv = op.params.kv;
    (is_written(op) ? writes : reads).push_back(layer_extent(kv.group, kv.layer));
  }
  if (shape.compressed_group != nullptr) {
    const tenon_attention_pools_params& attention = op.params.attention_pools;
    reads.push_back(layer_extent(attention.pool_group, attention.pool_layer));
  }
  const bool uses_scratch = op.kind == TENON_OP_MOE_ROUTE || is_selection(op.kind);
  if (uses_scratch) writes.push_back({addresses.scratch, addresses.scratch + 1});
  if (op.kind == TENON_OP_LINEAR && is_in_units(op.inputs[1])) {  // rows of x as f16
    (kernel == Kernel::pack_rows ? writes : reads).push_back({addresses.work, addresses.work + 1});
  }

  KernelKey key{kernel, {grid.threads == 0 ? limits.group_threads : grid.threads}};
  std::copy(constants.begin(), constants.end(), key.constants.begin() + 1);
  // An alternative has the accesses of the stage before it, and only one of the two runs.
  const bool waits = !is_alternative(grid) && hazards_.needs_barrier(reads, writes);
  op_of_last_ = op_number;
  stages_.push_back({key, parameters, grid.groups, grid.row_class, grid.rows_of_group, waits,
                     grid.least_rows, grid.most_rows});
}

}  // namespace tenon::gpu
