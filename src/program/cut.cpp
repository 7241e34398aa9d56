#include "program/cut.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "program/ops.h"

namespace tenon {
namespace {

constexpr uint32_t kNoOp = UINT32_MAX;

/// Index of the operation that writes each slot.
std::vector<uint32_t> writers_of(std::span<const tenon_op> ops, size_t num_slots) {
  std::vector<uint32_t> writers(num_slots, kNoOp);
  for (uint32_t op = 0; op < ops.size(); ++op) {
    for (uint32_t i = 0; i < ops[op].num_outputs; ++i) writers[ops[op].outputs[i]] = op;
  }
  return writers;
}

/// Calls visit(slot) for each present input.
template <typename Visit>
void for_each_input(const tenon_op& op, Visit visit) {
  for (uint32_t i = 0; i < op.num_inputs; ++i) {
    if (op.inputs[i] != TENON_NO_SLOT) visit(op.inputs[i]);
  }
}

}  // namespace

bool is_computed_anywhere(const tenon_program& program, const tenon_op& op) {
  bool constants = op.num_inputs > 0;
  for_each_input(op, [&](uint32_t slot) {
    constants = constants && program.slots[slot].kind == TENON_SLOT_CONSTANT;
  });
  for_each_cache_layer(op, [&](uint32_t, uint32_t) { constants = false; });
  return constants;
}

void for_each_cache_layer(tenon_op& op, const std::function<void(uint32_t&, uint32_t&)>& visit) {
  const backends::CacheUse use = backends::cache_use(op.kind);
  if (use == backends::CacheUse::None) return;
  visit(op.params.kv.group, op.params.kv.layer);  // all parameter structs begin with these
  if (use != backends::CacheUse::ReadsCompressed) return;
  visit(op.params.attention_pools.pool_group, op.params.attention_pools.pool_layer);
}

void for_each_cache_layer(const tenon_op& op,
                          const std::function<void(uint32_t, uint32_t)>& visit) {
  tenon_op copy = op;
  for_each_cache_layer(copy, [&](uint32_t& group, uint32_t& layer) { visit(group, layer); });
}

std::vector<OpTie> find_ties(const tenon_program& program) {
  const std::span<const tenon_op> ops(program.ops, program.num_ops);
  const std::vector<uint32_t> writers = writers_of(ops, program.num_slots);
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> first_of_layer;
  std::vector<OpTie> ties;
  for (uint32_t op = 0; op < ops.size(); ++op) {
    for_each_input(ops[op], [&](uint32_t slot) {
      if (program.slots[slot].type != TENON_TYPE_I32 || writers[slot] == kNoOp) return;
      ties.push_back({writers[slot], op});
    });
    for_each_cache_layer(ops[op], [&](uint32_t group, uint32_t layer) {
      const auto [found, is_first] = first_of_layer.try_emplace({group, layer}, op);
      if (!is_first) ties.push_back({found->second, op});
    });
  }
  return ties;
}

/// One cut; each step relies on the steps before.
class ProgramCutter {
 public:
  ProgramCutter(Program whole, std::span<const uint32_t> devices)
      : whole_(std::move(whole)),
        devices_(devices),
        writers_(writers_of(whole_.ops_, whole_.slots_.size())) {
    if (devices.size() != whole_.ops_.size()) {
      fail(Code::Internal, "cut: {} devices for {} operations", devices.size(), whole_.ops_.size());
    }
  }

  CutProgram run() && {
    for (const OpTie& tie : find_ties(whole_.view())) check(tie);
    find_parts();
    split_groups();
    find_results();
    const uint32_t logits = whole_.view().logits;
    if (logits != TENON_NO_SLOT && part_of_op_[writers_[logits]] + 1 != parts_.size()) {
      fail(Code::Internal, "cut: operations that the logits do not wait for come after them");
    }
    const tenon_program before = whole_.view();
    complete(whole_, before.logits);
    for (uint32_t part = 0; part < parts_.size(); ++part) write_part(part, before);
    CutProgram cut{std::move(whole_), std::move(group_devices_), {}};
    for (Part& part : parts_) cut.parts.push_back(std::move(*part.made));
    return cut;
  }

 private:
  struct Part {
    uint32_t device = 0;
    std::vector<uint32_t> ops;        // indices in the whole program, ascending
    std::vector<uint32_t> groups{};   // new numbers
    std::vector<uint32_t> results{};  // slots of the whole program
    std::optional<ProgramPart> made{};
  };

  [[nodiscard]] bool is_anywhere(uint32_t op) const {
    return is_computed_anywhere(whole_.view(), whole_.ops_[op]);
  }

  void check(const OpTie& tie) const {
    if (devices_[tie.first] == devices_[tie.second]) return;
    fail(Code::Internal, "cut: {} and {} share what must be on one device",
         op_label(tie.first, whole_.ops_[tie.first].kind),
         op_label(tie.second, whole_.ops_[tie.second].kind));
  }

  /// Assigns parts: an operation waits for as many device changes as its inputs, plus one for
  /// inputs from another device. Operations of one device with equal waits form a part.
  void find_parts() {
    std::vector<uint32_t> waits(whole_.ops_.size(), 0);
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> waits_of_layer;
    std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> ops;  // by (waits, device)
    for (uint32_t op = 0; op < whole_.ops_.size(); ++op) {
      if (is_anywhere(op)) continue;
      for_each_input(whole_.ops_[op], [&](uint32_t slot) {
        const uint32_t writer = writers_[slot];
        if (writer == kNoOp || is_anywhere(writer)) return;
        const uint32_t change = devices_[writer] != devices_[op] ? 1 : 0;
        waits[op] = std::max(waits[op], waits[writer] + change);
      });
      for_each_cache_layer(std::as_const(whole_.ops_[op]), [&](uint32_t group, uint32_t layer) {
        uint32_t& before = waits_of_layer[{group, layer}];
        before = waits[op] = std::max(waits[op], before);
      });
      ops[{waits[op], devices_[op]}].push_back(op);
    }
    part_of_op_.assign(whole_.ops_.size(), kNoOp);
    for (auto& [key, list] : ops) {
      for (const uint32_t op : list) part_of_op_[op] = static_cast<uint32_t>(parts_.size());
      parts_.push_back({key.second, std::move(list)});
    }
  }

  /// Splits groups: the layers of a group on one device become a group of that device, shared by
  /// its parts. States are split per part, because backends may lay out a state by its operations.
  void split_groups() {
    // (device, part of a state, group) -> layers; ordered like the new groups.
    std::map<std::array<uint32_t, 3>, std::set<uint32_t>> layers;
    const auto key_of = [&](uint32_t op, uint32_t group) {
      const bool is_state = whole_.groups_[group].kind == TENON_CACHE_STATE;
      return std::array{devices_[op], is_state ? part_of_op_[op] : 0, group};
    };
    for (uint32_t op = 0; op < whole_.ops_.size(); ++op) {
      for_each_cache_layer(std::as_const(whole_.ops_[op]), [&](uint32_t group, uint32_t layer) {
        layers[key_of(op, group)].insert(layer);
      });
    }
    std::vector<tenon_cache_group> groups;
    std::map<std::array<uint32_t, 3>, uint32_t> numbers;
    for (const auto& [key, of_group] : layers) {
      numbers[key] = static_cast<uint32_t>(groups.size());
      groups.push_back(whole_.groups_[key[2]]);
      groups.back().layers = static_cast<uint32_t>(of_group.size());
      group_devices_.push_back(key[0]);
    }
    for (uint32_t op = 0; op < whole_.ops_.size(); ++op) {
      for_each_cache_layer(whole_.ops_[op], [&](uint32_t& group, uint32_t& layer) {
        const auto key = key_of(op, group);
        const std::set<uint32_t>& of_group = layers[key];
        layer = static_cast<uint32_t>(std::distance(of_group.begin(), of_group.find(layer)));
        group = numbers[key];
        std::vector<uint32_t>& used = parts_[part_of_op_[op]].groups;
        if (std::ranges::find(used, group) == used.end()) used.push_back(group);
      });
    }
    for (Part& part : parts_) std::ranges::sort(part.groups);
    whole_.groups_ = std::move(groups);
  }

  void find_results() {
    const auto add = [&](uint32_t slot) {
      std::vector<uint32_t>& results = parts_[part_of_op_[writers_[slot]]].results;
      if (std::ranges::find(results, slot) == results.end()) results.push_back(slot);
    };
    for (const uint32_t slot : whole_.results_) add(slot);
    for (uint32_t op = 0; op < whole_.ops_.size(); ++op) {
      for_each_input(whole_.ops_[op], [&](uint32_t slot) {
        const uint32_t writer = writers_[slot];
        if (writer == kNoOp || part_of_op_[writer] == kNoOp) return;
        if (part_of_op_[writer] != part_of_op_[op]) add(slot);
      });
    }
  }

  void write_part(uint32_t number, const tenon_program& before) {
    Part& part = parts_[number];
    Program made;
    std::vector<uint32_t> slots;
    std::map<uint32_t, uint32_t> numbers;  // slot of the whole program -> slot of the part
    const auto take = [&](uint32_t& slot) {
      const auto [found, is_new] = numbers.try_emplace(slot, static_cast<uint32_t>(slots.size()));
      if (is_new) {
        made.slots_.push_back(whole_.slots_[slot]);
        slots.push_back(slot);
      }
      slot = found->second;
    };
    const auto add = [&](uint32_t index) {
      tenon_op op = whole_.ops_[index];
      for (uint32_t i = 0; i < op.num_inputs; ++i) {
        if (op.inputs[i] == TENON_NO_SLOT) continue;
        const bool arrives = !numbers.contains(op.inputs[i]);
        take(op.inputs[i]);
        tenon_slot& slot = made.slots_[op.inputs[i]];
        if (arrives && slot.kind == TENON_SLOT_ACTIVATION) slot.kind = TENON_SLOT_INPUT;
      }
      for (uint32_t i = 0; i < op.num_outputs; ++i) take(op.outputs[i]);
      for_each_cache_layer(op, [&](uint32_t& group, uint32_t&) {
        const auto found = std::ranges::lower_bound(part.groups, group);
        group = static_cast<uint32_t>(found - part.groups.begin());
      });
      made.ops_.push_back(op);
    };
    std::set<uint32_t> added;
    for (const uint32_t op : part.ops) {
      for_each_input(whole_.ops_[op], [&](uint32_t slot) {
        const uint32_t writer = writers_[slot];
        if (writer != kNoOp && is_anywhere(writer) && added.insert(writer).second) add(writer);
      });
      add(op);
    }
    for (const uint32_t group : part.groups) made.groups_.push_back(whole_.groups_[group]);
    for (uint32_t slot : part.results) {
      take(slot);
      made.results_.push_back(slot);
    }
    made.view_ = before;
    const auto logits = numbers.find(before.logits);
    const bool has_logits =
        logits != numbers.end() && part_of_op_[writers_[before.logits]] == number;
    complete(made, has_logits ? logits->second : TENON_NO_SLOT);
    part.made = ProgramPart{part.device, std::move(made), std::move(slots), part.groups};
  }

  static void complete(Program& program, uint32_t logits) {
    const tenon_program& view = program.view_;
    program.complete(Slot{logits}, {view.max_tokens, view.max_outputs}, view.position_parts,
                     view.token_history);
  }

  Program whole_;
  std::span<const uint32_t> devices_;
  std::vector<uint32_t> writers_;     // [slots] operations
  std::vector<uint32_t> part_of_op_;  // [ops]; kNoOp: in all parts that read it
  std::vector<Part> parts_;
  std::vector<uint32_t> group_devices_;
};

CutProgram cut_program(Program whole, std::span<const uint32_t> devices) {
  return ProgramCutter(std::move(whole), devices).run();
}

}  // namespace tenon
