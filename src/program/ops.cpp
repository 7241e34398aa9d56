#include "program/ops.h"

#include <string_view>

#include "base/error.h"
#include "program/op_rules.h"

namespace tenon {
namespace {

using namespace op_rules;

constexpr OpInfo kOps[] = {
#define TENON_INFO(KIND, name, cache) \
  {TENON_OP_##KIND, #name, backends::CacheUse::cache, op_table::name},
    TENON_OPERATIONS(TENON_INFO)
#undef TENON_INFO
};

bool is_integers(char letter) { return letter == 'i' || letter == 's'; }

/// True if a slot matches a letter of OpRule::inputs.
bool fits_letter(const tenon_slot& slot, char letter) {
  switch (letter) {
    case 'W':
    case 'w':
      return slot.kind == TENON_SLOT_WEIGHT;
    case 'C':
    case 'c':
      return slot.kind == TENON_SLOT_CONSTANT;
    case 'b':
      return slot.kind == TENON_SLOT_WEIGHT || slot.kind == TENON_SLOT_CONSTANT;
    case 'v':
      return slot.kind == TENON_SLOT_WEIGHT || fits_letter(slot, 'x');
    default:
      return (slot.kind == TENON_SLOT_ACTIVATION || slot.kind == TENON_SLOT_INPUT) &&
             slot.type == (is_integers(letter) ? TENON_TYPE_I32 : TENON_TYPE_F32);
  }
}

bool may_be_absent(char letter) {
  return letter == 'w' || letter == 'y' || letter == 'b' || letter == 'c' || letter == 's';
}

/// Checks presence, kinds and rows of the inputs; returns the common rows of the activations.
uint32_t check_inputs(const OpView& view, const OpRule& rule) {
  const std::string_view letters = rule.inputs;
  require(view.op.num_inputs <= letters.size(), view,
          fmt::format("{} inputs, at most {} expected", view.op.num_inputs, letters.size()));
  require(view.op.num_inputs == 0 || view.inputs[view.op.num_inputs - 1] != nullptr, view,
          fmt::format("input {} is missing", view.op.num_inputs - 1));
  uint32_t row_class = 0;
  for (uint32_t i = 0; i < view.inputs.size(); ++i) {
    const tenon_slot* slot = view.inputs[i];
    require(slot == nullptr || i < view.op.num_inputs, view, "more inputs than are counted");
    if (slot == nullptr) {
      require(i >= letters.size() || may_be_absent(letters[i]), view,
              fmt::format("input {} is missing", i));
      continue;
    }
    require(fits_letter(*slot, letters[i]), view,
            fmt::format("input {} (\"{}\") is of the wrong kind or type", i, slot->name));
    if (slot->row_class == 0) continue;
    const uint32_t expected = letters[i] == 't' || letters[i] == 's'
                                  ? TENON_ROWS_TOKENS
                                  : (row_class == 0 ? slot->row_class : row_class);
    require(slot->row_class == expected, view,
            fmt::format("input {} (\"{}\") has the wrong rows", i, slot->name));
    row_class = slot->row_class;
  }
  return row_class;
}

uint32_t output_rows(RowRule rule, uint32_t input_rows) {
  switch (rule) {
    case RowRule::Tokens:
      return TENON_ROWS_TOKENS;
    case RowRule::Outputs:
      return TENON_ROWS_OUTPUTS;
    case RowRule::Sequences:
      return TENON_ROWS_SEQUENCES;
    case RowRule::LikeInput:
      break;
  }
  return input_rows;
}

}  // namespace

std::span<const OpInfo> all_ops() noexcept { return kOps; }

const OpInfo* find_op(uint32_t kind) noexcept {
  for (const OpInfo& info : kOps) {
    if (info.kind == kind) return &info;
  }
  return nullptr;
}

OpOutputs check_op(const OpView& view) {
  const OpInfo* info = find_op(view.op.kind);
  if (info == nullptr)
    fail(Code::Internal, "operation {}: unknown kind {}", view.index, view.op.kind);
  const OpRule& rule = info->rule;
  const uint32_t input_rows = check_inputs(view, rule);
  const uint64_t columns = rule.columns(view);
  OpOutputs outputs;
  for (const char letter : std::string_view(rule.outputs)) {
    outputs.list[outputs.count++] = {output_rows(rule.rows, input_rows),
                                     letter == 'i' ? TENON_TYPE_I32 : TENON_TYPE_F32, columns};
  }
  return outputs;
}

OpView op_view(const tenon_program& program, uint32_t index) {
  OpView view{ops_of(program)[index], index, {}, groups_of(program), program.position_parts};
  for (uint32_t i = 0; i < view.op.num_inputs; ++i) {
    if (view.op.inputs[i] == TENON_NO_SLOT) continue;
    view.inputs[i] = &slots_of(program)[view.op.inputs[i]];
  }
  return view;
}

OpCost op_cost(const OpView& view) {
  const OpInfo* info = find_op(view.op.kind);
  return info == nullptr || info->rule.cost == nullptr ? OpCost{} : info->rule.cost(view);
}

std::string op_label(uint32_t index, uint32_t kind) {
  const OpInfo* info = find_op(kind);
  return fmt::format("operation {} ({})", index, info == nullptr ? "unknown" : info->name);
}

}  // namespace tenon
