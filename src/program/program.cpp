#include "program/program.h"

#include "program/ops.h"

namespace tenon {

Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

void Program::complete(Slot logits, const StepLimits& limits, uint32_t position_parts,
                       uint32_t token_history) {
  view_.struct_size = sizeof(tenon_program);
  view_.num_slots = static_cast<uint32_t>(slots_.size());
  view_.slot_size = sizeof(tenon_slot);
  view_.num_ops = static_cast<uint32_t>(ops_.size());
  view_.op_size = sizeof(tenon_op);
  view_.num_groups = static_cast<uint32_t>(groups_.size());
  view_.group_size = sizeof(tenon_cache_group);
  view_.num_results = static_cast<uint32_t>(results_.size());
  view_.logits = static_cast<uint32_t>(logits);
  view_.max_tokens = limits.max_tokens;
  view_.max_outputs = limits.max_outputs;
  view_.position_parts = position_parts;
  view_.token_history = token_history;
  view_.slots = slots_.data();
  view_.ops = ops_.data();
  view_.groups = groups_.data();
  view_.results = results_.data();
  verify_program(view_);
  view_.activation_bytes = plan_memory(slots_, ops_, results_, limits);
}

}  // namespace tenon
