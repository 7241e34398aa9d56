// Divides a program's operations into phases, for build_phases. phase_builder.cpp handles dense
// operations, moe_builder.cpp experts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "abi/program_copy.h"
#include "backends/cpu/layouts/panels.h"
#include "backends/cpu/operation.h"
#include "backends/cpu/phases/phases.h"

namespace tenon::cpu {

/// State of a build_phases call.
class PhaseBuilder {
 public:
  PhaseBuilder(const backends::ProgramCopy& program, const Kernels& kernels,
               const OperationTable& operations);
  PhasePlan build() &&;

 private:
  /// A kv_write counts as two items, so that keys and values can each follow their linear; so does
  /// a moe_linear with a sum.
  struct Item {
    RowOp row;
    bool done = false;  // fused into another
  };

  [[nodiscard]] SlotInfo& info(uint32_t slot) { return plan_.slots[slot]; }
  [[nodiscard]] uint64_t columns(uint32_t slot) const { return plan_.slots[slot].slot.columns; }
  [[nodiscard]] int32_t last_phase() const { return static_cast<int32_t>(plan_.phases.size()) - 1; }

  [[nodiscard]] std::vector<uint32_t> reads(const Item& item) const;
  [[nodiscard]] std::vector<size_t> consumers(uint32_t slot) const;
  [[nodiscard]] ActivationFormat format_read_by(uint32_t weight) const;
  [[nodiscard]] ActivationFormat format_read_by(const Item& item) const;
  [[nodiscard]] ActivationFormat formats_read(uint32_t slot) const;
  [[nodiscard]] bool ready_before(uint32_t slot, int32_t phase) const;

  void place_linear(size_t index);
  void place_operation(size_t index);
  void place_rows(size_t index);
  void place_route(size_t index);
  void place_experts(size_t index);
  void need_quantised(uint32_t slot);

  bool fuse_glu(LinearTask& task, uint32_t& result, size_t consumer, int32_t phase);
  bool fuse_one(LinearTask& task, uint32_t& result, int32_t phase);
  void finish_task(LinearTask& task, uint32_t result, int32_t phase);
  Phase& phase_for_linear(const tenon_op& op);

  void find_lifetimes();
  void find_results_in_place();

  void add_expert_sum(const RowOp& row);
  [[nodiscard]] uint32_t route_of(uint32_t slot) const;
  uint32_t gathered_input(const tenon_op& op);
  void fuse_expert_glu(const tenon_op& gate, ExpertTask& task, uint32_t& result);
  bool keep_gathered(const tenon_op& op, ExpertTask& task, uint32_t result);

  std::span<const tenon_cache_group> groups_;
  const Kernels& kernels_;
  PhasePlan plan_;
  std::vector<Item> items_;
};

}  // namespace tenon::cpu
