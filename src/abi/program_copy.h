// A backend's copy of a program's lists: compile must not keep pointers into its arguments.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "abi/failure.h"
#include "abi/sizes.h"
#include "abi/strided.h"

namespace tenon::backends {

/// True if an operation of the program writes the cache group.
inline bool writes_group(const tenon_program& program, uint32_t group) {
  const Strided<tenon_op> ops = ops_of(program);
  for (uint32_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind == TENON_OP_KV_WRITE && ops[i].params.kv.group == group) return true;
  }
  return false;
}

/// True if the program has an attention with this mask.
inline bool has_mask(const tenon_program& program, uint32_t mask) {
  const Strided<tenon_op> ops = ops_of(program);
  for (uint32_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind == TENON_OP_ATTENTION && ops[i].params.attention.mask == mask) return true;
  }
  return false;
}

/// Immutable. Its view has this side's structure sizes, so lists are plain arrays.
class ProgramCopy {
 public:
  /// Throws ARGUMENT for missing lists or smaller structures, UNSUPPORTED for constants other than
  /// f64 and i64.
  explicit ProgramCopy(const tenon_program& program) : view_(program) {
    if (program.position_parts != 1 && program.position_parts != 3) {
      refuse(TENON_BACKEND_ARGUMENT, "program: positions of {} parts, not 1 or 3",
             program.position_parts);
    }
    check("slots", program.num_slots, program.slots, program.slot_size, sizeof(tenon_slot));
    check("operations", program.num_ops, program.ops, program.op_size, sizeof(tenon_op));
    check("cache groups", program.num_groups, program.groups, program.group_size,
          sizeof(tenon_cache_group));
    check("results", program.num_results, program.results, sizeof(uint32_t), sizeof(uint32_t));
    slots_ = slots_of(program).copies();
    ops_ = ops_of(program).copies();
    groups_ = groups_of(program).copies();
    results_.assign(program.results, program.results + program.num_results);
    names_.reserve(slots_.size());
    constants_.resize(slots_.size());
    integers_.resize(slots_.size());
    for (size_t i = 0; i < slots_.size(); ++i) copy_slot(i);
    note_what_steps_bring();
    note_masks(program);
    view_.struct_size = sizeof(view_);
    view_.slots = slots_.data();
    view_.slot_size = sizeof(tenon_slot);
    view_.ops = ops_.data();
    view_.op_size = sizeof(tenon_op);
    view_.groups = groups_.data();
    view_.group_size = sizeof(tenon_cache_group);
    view_.results = results_.data();
  }
  ProgramCopy(const ProgramCopy&) = delete;
  ProgramCopy& operator=(const ProgramCopy&) = delete;

  [[nodiscard]] const tenon_program& view() const { return view_; }
  [[nodiscard]] std::span<const tenon_slot> slots() const { return slots_; }
  [[nodiscard]] std::span<const tenon_op> ops() const { return ops_; }
  /// A CROSS group that the program writes (an encoder's) becomes FULL: its positions are the
  /// sequence's own.
  [[nodiscard]] std::span<const tenon_cache_group> groups() const { return groups_; }
  [[nodiscard]] std::span<const uint32_t> results() const { return results_; }
  /// Slots that each step binds: inputs and results.
  [[nodiscard]] std::span<const uint32_t> bound() const { return bound_; }
  /// Upper bound of tokens: rows of the smallest table that they index; kNoVocab without tables.
  [[nodiscard]] uint64_t vocab() const { return vocab_; }
  /// Upper bound of the first part of positions: rows of the smallest table that they index.
  [[nodiscard]] uint64_t max_positions() const { return max_positions_; }
  static constexpr uint64_t kNoVocab = UINT64_MAX;
  /// True if some attention sees later tokens.
  [[nodiscard]] bool whole_sequences() const { return whole_sequences_; }
  /// True if some attention reads another text.
  [[nodiscard]] bool reads_cross() const { return reads_cross_; }
  /// Values of an f64 constant; empty for other slots.
  [[nodiscard]] std::span<const double> constant(uint32_t slot) const { return constants_[slot]; }
  /// Values of an i64 constant, row by row.
  [[nodiscard]] std::span<const int64_t> integers(uint32_t slot) const { return integers_[slot]; }

 private:
  static void check(const char* what, uint32_t count, const void* first, uint32_t stride,
                    size_t least) {
    if (count == 0 || (first != nullptr && stride >= least)) return;
    refuse(TENON_BACKEND_ARGUMENT, "program: {} are missing or too small", what);
  }

  void copy_slot(size_t number) {
    tenon_slot& slot = slots_[number];
    names_.emplace_back(slot.name == nullptr ? "" : slot.name);
    slot.name = names_.back().c_str();
    if (slot.kind != TENON_SLOT_CONSTANT) return;
    const bool integers = slot.type == TENON_TYPE_I64;
    if (!(integers || slot.type == TENON_TYPE_F64) || slot.data == nullptr) {
      refuse(TENON_BACKEND_UNSUPPORTED, "constant \"{}\" is neither f64 nor i64", slot.name);
    }
    const uint64_t values = multiply(slot.rows, slot.columns, slot.name);
    const auto copy = [&](auto& to) {
      to.resize(values);
      std::memcpy(to.data(), slot.data, values * sizeof(to[0]));
      slot.data = to.data();
    };
    if (integers) {
      copy(integers_[number]);
    } else {
      copy(constants_[number]);
    }
  }

  void note_what_steps_bring() {
    for (uint32_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].kind == TENON_SLOT_INPUT) bound_.push_back(i);
    }
    bound_.insert(bound_.end(), results_.begin(), results_.end());
    for (const tenon_op& op : ops_) {
      if (op.kind != TENON_OP_EMBED || op.inputs[0] >= slots_.size()) continue;
      const bool by_position = op.params.embed.source == TENON_EMBED_POSITIONS;
      uint64_t& rows = by_position ? max_positions_ : vocab_;
      rows = std::min(rows, slots_[op.inputs[0]].rows);
    }
  }

  void note_masks(const tenon_program& program) {
    whole_sequences_ = has_mask(program, TENON_MASK_SYMMETRIC);
    reads_cross_ = has_mask(program, TENON_MASK_CROSS);
    for (uint32_t g = 0; g < groups_.size(); ++g) {
      const bool own = groups_[g].kind == TENON_CACHE_CROSS && writes_group(program, g);
      if (own) groups_[g].kind = TENON_CACHE_FULL;
    }
  }

  tenon_program view_;
  std::vector<std::string> names_;
  std::vector<tenon_slot> slots_;
  std::vector<tenon_op> ops_;
  std::vector<tenon_cache_group> groups_;
  std::vector<uint32_t> results_;
  std::vector<uint32_t> bound_;
  uint64_t vocab_ = kNoVocab;
  bool whole_sequences_ = false;
  bool reads_cross_ = false;
  uint64_t max_positions_ = kNoVocab;
  std::vector<std::vector<double>> constants_;  // by slot
  std::vector<std::vector<int64_t>> integers_;  // by slot
};

}  // namespace tenon::backends
