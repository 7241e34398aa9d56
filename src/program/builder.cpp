#include <algorithm>
#include <utility>

#include "base/error.h"
#include "program/operations.h"
#include "program/ops.h"
#include "program/program.h"

namespace tenon {
namespace {

tenon_slot slot_of(uint32_t kind, uint32_t type, uint64_t rows, uint64_t columns) {
  tenon_slot slot{};
  slot.kind = kind;
  slot.type = type;
  slot.rows = rows;
  slot.columns = columns;
  slot.plan_offset = TENON_NO_PLAN;
  return slot;
}

uint32_t number(Slot slot) { return static_cast<uint32_t>(slot); }

}  // namespace

tenon_op new_op(uint32_t kind) {
  tenon_op op{};
  op.kind = kind;
  for (uint32_t& input : op.inputs) input = TENON_NO_SLOT;
  for (uint32_t& output : op.outputs) output = TENON_NO_SLOT;
  return op;
}

Slot ProgramBuilder::add_slot(tenon_slot slot, std::string_view name) {
  program_.names_.push_back(std::make_unique<const std::string>(name));
  slot.name = program_.names_.back()->c_str();
  program_.slots_.push_back(slot);
  return Slot{static_cast<uint32_t>(program_.slots_.size() - 1)};
}

ProgramBuilder::Outputs ProgramBuilder::append(tenon_op op, std::initializer_list<Slot> inputs) {
  const auto index = static_cast<uint32_t>(program_.ops_.size());
  OpView view{op,
              index,
              {},
              Strided<tenon_cache_group>(program_.groups_.data(),
                                         static_cast<uint32_t>(program_.groups_.size()),
                                         sizeof(tenon_cache_group)),
              position_parts_};
  uint32_t i = 0;
  for (const Slot input : inputs) {
    if (input != kNoSlot) {
      if (number(input) >= program_.slots_.size()) {
        fail(Code::Internal, "{}: there is no slot {}", op_label(index, op.kind), number(input));
      }
      op.inputs[i] = number(input);
      op.num_inputs = i + 1;
      view.inputs[i] = &program_.slots_[number(input)];
    }
    ++i;
  }
  const OpOutputs made = check_op(view);
  Outputs outputs{kNoSlot, kNoSlot};
  for (uint32_t o = 0; o < made.count; ++o) {
    tenon_slot slot = slot_of(TENON_SLOT_ACTIVATION, made.list[o].type, 0, made.list[o].columns);
    slot.row_class = made.list[o].row_class;
    const char* suffix = o == 0 ? "" : ".2";
    outputs[o] = add_slot(slot, fmt::format("{}#{}{}", find_op(op.kind)->name, index, suffix));
    op.outputs[o] = number(outputs[o]);
  }
  op.num_outputs = made.count;
  program_.ops_.push_back(op);
  if (watches_) watch(op);
  return outputs;
}

void ProgramBuilder::watch(const tenon_op& product) {
  const auto is_weight = [&](uint32_t slot) {
    return program_.slots_[slot].kind == TENON_SLOT_WEIGHT;
  };
  const uint32_t x = product.inputs[0];
  switch (product.kind) {
    case TENON_OP_LINEAR:
    case TENON_OP_LINEAR_HEADS:
      if (!is_weight(product.inputs[1])) return;
      program_.watched_.push_back(
          {product.inputs[1], squares_of(x, program_.slots_[x].row_class == TENON_ROWS_TOKENS)});
      return;
    case TENON_OP_MOE_LINEAR: {
      const uint32_t experts = product.inputs[1];
      if (std::ranges::find(program_.results_, experts) == program_.results_.end()) {
        result(Slot{experts});
      }
      program_.watched_.push_back({product.inputs[2], squares_of(x, false), experts});
      return;
    }
    default:
      return;
  }
}

uint32_t ProgramBuilder::squares_of(uint32_t x, bool mean) {
  const auto [found, is_new] = squares_.try_emplace({x, mean}, TENON_NO_SLOT);
  if (is_new) {
    Slot squares = op::mul(*this, Slot{x}, Slot{x});
    if (mean) squares = op::pool(*this, squares, TENON_POOL_MEAN);
    result(squares);
    found->second = number(squares);
  }
  return found->second;
}

Slot ProgramBuilder::weight(std::string_view name, Format format, uint64_t rows, uint64_t columns) {
  const auto type = static_cast<uint32_t>(format);
  for (uint32_t i = 0; i < program_.slots_.size(); ++i) {
    const tenon_slot& slot = program_.slots_[i];
    if (slot.kind != TENON_SLOT_WEIGHT || slot.name != name) continue;
    if (slot.type != type || slot.rows != rows || slot.columns != columns) {
      fail(Code::Internal, "weight \"{}\": asked for with two shapes or formats", name);
    }
    return Slot{i};
  }
  return add_slot(slot_of(TENON_SLOT_WEIGHT, type, rows, columns), name);
}

Slot ProgramBuilder::constant(std::string_view name, std::span<const double> values) {
  program_.constants_.emplace_back(values.begin(), values.end());
  tenon_slot slot = slot_of(TENON_SLOT_CONSTANT, TENON_TYPE_F64, 1, values.size());
  slot.data = program_.constants_.back().data();
  return add_slot(slot, name);
}

Slot ProgramBuilder::integers(std::string_view name, std::span<const int64_t> values,
                              uint64_t columns) {
  program_.integers_.emplace_back(values.begin(), values.end());
  tenon_slot slot = slot_of(TENON_SLOT_CONSTANT, TENON_TYPE_I64, values.size() / columns, columns);
  slot.data = program_.integers_.back().data();
  return add_slot(slot, name);
}

Slot ProgramBuilder::shared_integers(std::string_view name,
                                     const std::shared_ptr<const std::vector<int64_t>>& values) {
  const auto [found, is_new] = shared_integers_.try_emplace(values.get(), kNoSlot);
  if (is_new) found->second = integers(name, *values, values->size());
  return found->second;
}

Slot ProgramBuilder::input(std::string_view name, uint32_t row_class, uint64_t columns) {
  tenon_slot slot = slot_of(TENON_SLOT_INPUT, TENON_TYPE_F32, 0, columns);
  slot.row_class = row_class;
  return add_slot(slot, name);
}

uint32_t ProgramBuilder::cache_group(const CacheGroup& group) {
  const bool windowed = group.kind == TENON_CACHE_FULL && group.window > 0;
  const uint32_t kind = windowed ? TENON_CACHE_WINDOW : group.kind;
  program_.groups_.push_back({group.layers, group.kv_heads, group.key_dim, group.value_dim,
                              group.type, group.block_tokens, kind, group.window, 0, 0,
                              group.stride});
  return static_cast<uint32_t>(program_.groups_.size() - 1);
}

void ProgramBuilder::position_parts(uint32_t parts) {
  if (!program_.ops_.empty()) fail(Code::Internal, "position_parts after the first operation");
  position_parts_ = parts;
}

void ProgramBuilder::look_back(uint32_t tokens) {
  token_history_ = std::max(token_history_, tokens);
}

uint32_t ProgramBuilder::state_group(uint32_t layers, uint32_t values) {
  tenon_cache_group group{};
  group.layers = layers;
  group.type = TENON_TYPE_F32;
  group.kind = TENON_CACHE_STATE;
  group.state_values = values;
  program_.groups_.push_back(group);
  return static_cast<uint32_t>(program_.groups_.size() - 1);
}

uint64_t ProgramBuilder::columns(Slot slot) const {
  return number(slot) < program_.slots_.size() ? program_.slots_[number(slot)].columns : 0;
}

uint32_t ProgramBuilder::row_class(Slot slot) const {
  return program_.slots_.at(number(slot)).row_class;
}

std::string_view ProgramBuilder::name(Slot slot) const {
  return program_.slots_.at(number(slot)).name;
}

void ProgramBuilder::result(Slot slot) { program_.results_.push_back(number(slot)); }

Program ProgramBuilder::finish(Slot logits, const StepLimits& limits) && {
  if (logits != kNoSlot) result(logits);
  Program program = std::move(program_);
  program.complete(logits, limits, position_parts_, token_history_);
  return program;
}

}  // namespace tenon
