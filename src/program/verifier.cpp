#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "abi/ngram_hash.h"
#include "abi/step_rules.h"
#include "base/checked.h"
#include "program/cache_types.h"
#include "program/ops.h"
#include "program/program.h"

namespace tenon {
namespace {

// A model of a thousand layers has some 20,000 of each. Bounds the memory that a broken count
// costs.
constexpr uint32_t kMaxEntries = 1u << 20;

// Largest row and vocabulary, so that byte sizes stay far below 64 bits.
constexpr uint64_t kMaxExtent = uint64_t{1} << 40;

/// One pass over a program; each step relies on the checks before.
class Verifier {
 public:
  explicit Verifier(const tenon_program& program)
      : program_(program),
        slots_(slots_of(program)),
        ops_(ops_of(program)),
        groups_(groups_of(program)),
        facts_{.token_history = program.token_history} {}

  void run() {
    check_header();
    for (uint32_t i = 0; i < groups_.size(); ++i) check_group(i);
    for (uint32_t i = 0; i < slots_.size(); ++i) check_slot(i);
    written_.assign(slots_.size(), false);
    for (uint32_t i = 0; i < ops_.size(); ++i) check_operation(i);
    check_written();
    check_results();
  }

 private:
  void check_header() const {
    const bool sizes =
        program_.struct_size >= sizeof(tenon_program) && program_.slot_size >= sizeof(tenon_slot) &&
        program_.op_size >= sizeof(tenon_op) &&
        (program_.num_groups == 0 || program_.group_size >= sizeof(tenon_cache_group));
    if (!sizes) fail(Code::Internal, "program: a structure is smaller than this version's");
    const bool aligned = program_.slot_size % alignof(tenon_slot) == 0 &&
                         program_.op_size % alignof(tenon_op) == 0 &&
                         program_.group_size % alignof(tenon_cache_group) == 0;
    if (!aligned) fail(Code::Internal, "program: the distance of structures is not aligned");
    for (const uint32_t count :
         {program_.num_slots, program_.num_ops, program_.num_groups, program_.num_results}) {
      if (count > kMaxEntries) {
        fail(Code::Internal, "program: {} entries, at most {}", count, kMaxEntries);
      }
    }
    if (program_.num_slots == 0 || program_.num_ops == 0) fail(Code::Internal, "program: empty");
    const bool pointers = program_.slots != nullptr && program_.ops != nullptr &&
                          (program_.num_groups == 0 || program_.groups != nullptr) &&
                          (program_.num_results == 0 || program_.results != nullptr);
    if (!pointers) fail(Code::Internal, "program: an array is missing");
    if (program_.max_tokens == 0 || program_.max_outputs == 0) {
      fail(Code::Internal, "program: max_tokens {} and max_outputs {} must be at least 1",
           program_.max_tokens, program_.max_outputs);
    }
    if (program_.token_history >= backends::kMaxNgram) {
      fail(Code::Internal, "program: {} earlier tokens, at most {}", program_.token_history,
           backends::kMaxNgram - 1);
    }
    if (program_.position_parts != 1 && program_.position_parts != 3) {
      fail(Code::Internal, "program: positions of {} parts, not 1 or 3", program_.position_parts);
    }
  }

  void check_group(uint32_t index) const {
    const tenon_cache_group& group = groups_[index];
    if (group.kind == TENON_CACHE_STATE) return check_state_group(index, group);
    if (group.state_values != 0) {
      fail(Code::Internal, "cache group {}: a state of {} values does not fit its kind", index,
           group.state_values);
    }
    const bool filled = group.layers > 0 && group.kv_heads > 0 && group.key_dim > 0 &&
                        group.value_dim > 0 && group.block_tokens > 0;
    if (!filled) fail(Code::Internal, "cache group {}: a size is zero", index);
    if (find_cache_type(group.type) == nullptr) {
      fail(Code::Internal, "cache group {}: type {} is none of {}", index, group.type,
           cache_type_names(", "));
    }
    if (group.kind == TENON_CACHE_STATE || group.kind > TENON_CACHE_CROSS) {
      fail(Code::Internal, "cache group {}: unknown kind {}", index, group.kind);
    }
    if (group.kind == TENON_CACHE_LATENT &&
        (group.kv_heads != 1 || group.value_dim > group.key_dim)) {
      fail(Code::Internal,
           "cache group {}: {} heads with values of {} in keys of {} are not latent", index,
           group.kv_heads, group.value_dim, group.key_dim);
    }
    if (group.stride > 1 && group.kind != TENON_CACHE_LATENT && group.kind != TENON_CACHE_WINDOW) {
      fail(Code::Internal, "cache group {}: a stride of {} goes with latent rows or a window",
           index, group.stride);
    }
    const bool may_have_window = group.kind == TENON_CACHE_LATENT && group.stride <= 1;
    if ((group.kind == TENON_CACHE_WINDOW) != (group.window > 0) && !may_have_window) {
      fail(Code::Internal, "cache group {}: a window of {} positions does not fit its kind", index,
           group.window);
    }
  }

  static void check_state_group(uint32_t index, const tenon_cache_group& group) {
    if (group.layers == 0 || group.state_values == 0) {
      fail(Code::Internal, "cache group {}: a size is zero", index);
    }
    const bool bare = group.kv_heads == 0 && group.key_dim == 0 && group.value_dim == 0 &&
                      group.block_tokens == 0 && group.window == 0 && group.type == TENON_TYPE_F32;
    if (!bare) {
      fail(Code::Internal, "cache group {}: states have no heads and no positions, and are f32",
           index);
    }
  }

  void check_slot(uint32_t index) const {
    const tenon_slot& slot = slots_[index];
    if (slot.name == nullptr) fail(Code::Internal, "slot {}: no name", index);
    if (slot.columns == 0 || slot.columns > kMaxExtent || slot.rows > kMaxExtent) {
      fail(Code::Internal, "slot {} (\"{}\"): [{}, {}] is outside 1..{}", index, slot.name,
           slot.rows, slot.columns, kMaxExtent);
    }
    switch (slot.kind) {
      case TENON_SLOT_WEIGHT:
        return check_stored(index, slot, true);
      case TENON_SLOT_CONSTANT:
        return check_stored(index, slot, false);
      case TENON_SLOT_ACTIVATION:
      case TENON_SLOT_INPUT:
        return check_activation(index, slot);
      default:
        fail(Code::Internal, "slot {} (\"{}\"): unknown kind {}", index, slot.name, slot.kind);
    }
  }

  static void check_stored(uint32_t index, const tenon_slot& slot, bool weight) {
    const FormatInfo* format = find_format(slot.type);
    if (format == nullptr || (weight && !format->weight)) {
      fail(Code::Internal, "slot {} (\"{}\"): type {} is no weight format", index, slot.name,
           slot.type);
    }
    const auto bytes = row_bytes(*format, slot.columns);
    if (slot.rows == 0 || !bytes) {
      fail(Code::Internal, "slot {} (\"{}\"): [{}, {}] is not whole blocks of {}", index, slot.name,
           slot.rows, slot.columns, format->name);
    }
    checked_mul(*bytes, slot.rows, slot.name, Code::Internal);
    if (!weight && slot.data == nullptr) {
      fail(Code::Internal, "slot {} (\"{}\"): a constant without data", index, slot.name);
    }
  }

  static void check_activation(uint32_t index, const tenon_slot& slot) {
    const bool rows = slot.row_class >= TENON_ROWS_TOKENS && slot.row_class <= TENON_ROWS_SEQUENCES;
    const bool integers = slot.type == TENON_TYPE_I32 && slot.kind == TENON_SLOT_ACTIVATION;
    if (!rows || !(slot.type == TENON_TYPE_F32 || integers)) {
      fail(Code::Internal,
           "slot {} (\"{}\"): an activation is [T, R or S, columns] of f32 or i32, an input of f32",
           index, slot.name);
    }
  }

  /// Slot of an input, which must exist; an activation must have been written before.
  [[nodiscard]] const tenon_slot* input_slot(uint32_t op, uint32_t number) const {
    if (number == TENON_NO_SLOT) return nullptr;
    const uint32_t kind = ops_[op].kind;
    if (number >= slots_.size()) {
      fail(Code::Internal, "{}: there is no slot {}", op_label(op, kind), number);
    }
    const tenon_slot& slot = slots_[number];
    if (slot.kind == TENON_SLOT_ACTIVATION && !written_[number]) {
      fail(Code::Internal, "{}: reads \"{}\" before it is written", op_label(op, kind), slot.name);
    }
    return &slot;
  }

  void check_operation(uint32_t index) {
    const tenon_op& op = ops_[index];
    if (op.num_inputs > TENON_MAX_INPUTS) {
      fail(Code::Internal, "{}: {} inputs, at most {}", op_label(index, op.kind), op.num_inputs,
           TENON_MAX_INPUTS);
    }
    OpView view{op, index, {}, groups_, program_.position_parts};
    for (size_t i = 0; i < view.inputs.size(); ++i) {
      view.inputs[i] = input_slot(index, op.inputs[i]);
    }
    check_outputs(index, check_op(view));
    const OpInfo& info = *find_op(op.kind);
    check_cache(index, info.cache);
    check_state(view, info.rule);
    if (info.rule.connect != nullptr) info.rule.connect(view, facts_);
  }

  void check_outputs(uint32_t index, const OpOutputs& made) {
    const tenon_op& op = ops_[index];
    if (op.num_outputs != made.count) {
      fail(Code::Internal, "{}: {} outputs, it has {}", op_label(index, op.kind), op.num_outputs,
           made.count);
    }
    for (uint32_t o = 0; o < TENON_MAX_OUTPUTS; ++o) {
      if (o < made.count) {
        check_output(index, op.outputs[o], made.list[o]);
      } else if (op.outputs[o] != TENON_NO_SLOT) {
        fail(Code::Internal, "{}: has no output {}", op_label(index, op.kind), o);
      }
    }
  }

  void check_output(uint32_t index, uint32_t number, const OpOutput& made) {
    const tenon_op& op = ops_[index];
    if (number >= slots_.size()) {
      fail(Code::Internal, "{}: there is no slot {}", op_label(index, op.kind), number);
    }
    const tenon_slot& slot = slots_[number];
    if (slot.kind != TENON_SLOT_ACTIVATION || written_[number]) {
      fail(Code::Internal, "{}: \"{}\" is no activation or is written twice",
           op_label(index, op.kind), slot.name);
    }
    if (slot.row_class != made.row_class || slot.columns != made.columns ||
        slot.type != made.type) {
      fail(Code::Internal,
           "{}: \"{}\" has {} columns of type {} in row class {}, the result has {} of {} in {}",
           op_label(index, op.kind), slot.name, slot.columns, slot.type, slot.row_class,
           made.columns, made.type, made.row_class);
    }
    written_[number] = true;
  }

  /// A cache layer is written once, before operations read it. A program either writes or reads a
  /// CROSS group, which holds another text.
  void check_cache(uint32_t index, backends::CacheUse use) {
    using backends::CacheUse;
    if (use == CacheUse::None || use == CacheUse::State) return;
    const tenon_op& op = ops_[index];
    const auto layer = std::pair(op.params.kv.group, op.params.kv.layer);
    if (use == CacheUse::Writes) {
      if (cached_.insert(layer).second) return;
      fail(Code::Internal, "{}: layer {} of cache group {} is written twice",
           op_label(index, op.kind), layer.second, layer.first);
    }
    if (groups_[layer.first].kind == TENON_CACHE_CROSS) {
      if (!backends::writes_group(program_, layer.first)) return;
      fail(Code::Internal, "{}: cache group {} is of another text, but this program writes it",
           op_label(index, op.kind), layer.first);
    }
    check_cached(index, layer);
    if (use != CacheUse::ReadsCompressed) return;
    check_cached(index,
                 {op.params.attention_pools.pool_group, op.params.attention_pools.pool_layer});
  }

  void check_cached(uint32_t index, std::pair<uint32_t, uint32_t> layer) const {
    if (cached_.contains(layer)) return;
    fail(Code::Internal, "{}: layer {} of cache group {} is read before it is written",
         op_label(index, ops_[index].kind), layer.second, layer.first);
  }

  /// Each value of a state belongs to one operation.
  void check_state(const OpView& view, const OpRule& rule) {
    if (rule.state_values == nullptr) return;
    const tenon_state_params& state = view.op.params.state;
    const uint64_t end = state.offset + rule.state_values(view);
    if (end == state.offset) return;
    auto& parts = states_[{state.group, state.layer}];
    const auto next = parts.upper_bound(state.offset);
    if (next != parts.end() && next->second < end) {
      fail(Code::Internal, "{}: values {} to {} of a state overlap with another operation's",
           op_label(view.index, view.op.kind), state.offset, end);
    }
    parts[end] = state.offset;
  }

  void check_written() const {
    for (uint32_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].kind == TENON_SLOT_ACTIVATION && !written_[i]) {
        fail(Code::Internal, "slot {} (\"{}\"): no operation writes it", i, slots_[i].name);
      }
    }
  }

  void check_results() const {
    if (program_.num_results == 0) fail(Code::Internal, "program: it has no result");
    std::set<uint32_t> seen;
    for (uint32_t i = 0; i < program_.num_results; ++i) {
      const uint32_t number = program_.results[i];
      const bool fits = number < slots_.size() && slots_[number].kind == TENON_SLOT_ACTIVATION;
      if (!fits || !seen.insert(number).second) {
        fail(Code::Internal, "program: result {} is no activation, or there twice", i);
      }
    }
    if (program_.logits == TENON_NO_SLOT) return;
    if (!seen.contains(program_.logits) || slots_[program_.logits].type != TENON_TYPE_F32 ||
        slots_[program_.logits].row_class != TENON_ROWS_OUTPUTS) {
      fail(Code::Internal, "program: the logits are no result of R rows");
    }
  }

  const tenon_program& program_;
  Strided<tenon_slot> slots_;
  Strided<tenon_op> ops_;
  Strided<tenon_cache_group> groups_;
  std::vector<bool> written_;
  std::set<std::pair<uint32_t, uint32_t>> cached_;
  /// Per group and layer: end of an operation's part -> its begin.
  std::map<std::pair<uint32_t, uint32_t>, std::map<uint64_t, uint64_t>> states_;
  ProgramFacts facts_;
};

}  // namespace

void verify_program(const tenon_program& program) { Verifier(program).run(); }

}  // namespace tenon
