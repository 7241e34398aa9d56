#include <algorithm>

#include "abi/operation_list.h"
#include "abi/strided.h"
#include "backends/cpu/operation.h"

namespace tenon::cpu {
namespace {

using backends::CacheUse;

constexpr const CpuOperation* kTable[] = {
#define TENON_CPU_OPERATION(name) &ops::name,
#include <cpu_operations.h>
#undef TENON_CPU_OPERATION
};

constexpr OperationTable kAllOperations{kTable};

/// True if the operation reads or writes position rows of the group.
bool uses_positions(const tenon_op& op, uint32_t group) noexcept {
  const CacheUse use = backends::cache_use(op.kind);
  if (use == CacheUse::None || use == CacheUse::State) return false;
  if (op.params.kv.group == group) return true;
  return use == CacheUse::ReadsCompressed && op.params.attention_pools.pool_group == group;
}

}  // namespace

const OperationTable& all_operations() noexcept { return kAllOperations; }

const CpuOperation* OperationTable::find(uint32_t kind) const noexcept {
  const auto found = std::ranges::find(entries_, kind, [](auto* entry) { return entry->kind; });
  return found == entries_.end() ? nullptr : *found;
}

bool OperationTable::is_plain_group(const tenon_program& program, uint32_t group) const noexcept {
  const Strided<tenon_op> ops = ops_of(program);
  for (uint32_t i = 0; i < ops.size(); ++i) {
    if (uses_positions(ops[i], group) && find(ops[i].kind) == nullptr) return true;
  }
  return false;
}

const CpuOperation* OperationTable::entry_of(const tenon_program& program,
                                             const tenon_op& op) const noexcept {
  const CacheUse use = backends::cache_use(op.kind);
  const bool positions = use != CacheUse::None && use != CacheUse::State;
  if (positions && is_plain_group(program, op.params.kv.group)) return nullptr;
  if (use == CacheUse::ReadsCompressed &&
      is_plain_group(program, op.params.attention_pools.pool_group)) {
    return nullptr;
  }
  return find(op.kind);
}

uint32_t num_matrices(const CpuOperation* operation, const tenon_op& op, uint32_t input) noexcept {
  if (operation == nullptr || operation->matrices == nullptr) return 0;
  return operation->matrices(op, input);
}

uint32_t state_table(const CpuOperation* operation, const tenon_op& op) noexcept {
  const bool none = operation == nullptr || operation->transposed == CpuOperation::kNoInput;
  return none ? TENON_NO_SLOT : op.inputs[operation->transposed];
}

}  // namespace tenon::cpu
