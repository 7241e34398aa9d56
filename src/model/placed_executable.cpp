#include "model/placed_executable.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/checked.h"
#include "base/error.h"

namespace tenon {

/// A part on its device, with its view of the step.
class PlacedExecutable::Part {
 public:
  /// Takes a whole program.
  Part(const std::shared_ptr<Device>& device, uint32_t number, const Program& program)
      : executable_(device, program.view()), device_(number) {}

  Part(const std::shared_ptr<Device>& device, uint32_t number, const ProgramPart& part,
       size_t num_slots)
      : executable_(device, part.program.view()),
        device_(number),
        groups_(part.groups),
        own_slots_(num_slots, TENON_NO_SLOT) {
    for (uint32_t i = 0; i < part.slots.size(); ++i) own_slots_[part.slots[i]] = i;
    for (const uint32_t result : part.program.results()) bound_.push_back(result);
    for (uint32_t i = 0; i < part.slots.size(); ++i) {
      if (part.program.slots()[i].kind == TENON_SLOT_INPUT) bound_.push_back(i);
    }
    // Reserved so that laying out a step does not allocate.
    const uint32_t most = part.program.view().max_tokens;
    sequences_.reserve(most);
    tables_.reserve(most * groups_.size());
    pools_.reserve(groups_.size());
    bindings_.reserve(bound_.size());
    carried_.reserve(bound_.size());
  }

  [[nodiscard]] Executable& executable() { return executable_; }
  [[nodiscard]] const Executable& executable() const { return executable_; }
  [[nodiscard]] uint32_t device() const { return device_; }
  /// True if the part has this slot of the whole program.
  [[nodiscard]] bool has(uint32_t slot) const { return own(slot) != TENON_NO_SLOT; }
  [[nodiscard]] uint32_t own(uint32_t slot) const {
    return own_slots_.empty() ? slot : own_slots_[slot];
  }
  /// Binds memory to a slot of the whole program, as input or result.
  void bind(uint32_t slot, void* data) { carried_.push_back({own(slot), 0, data}); }

  /// Lays out the step with the part's pools, block tables and bindings.
  const tenon_step& lay_out(const tenon_step& step) {
    pools_.clear();
    for (const uint32_t group : groups_) pools_.push_back(step.pools[group]);
    sequences_.clear();
    tables_.clear();
    for (uint32_t i = 0; i < step.num_sequences; ++i) {
      tenon_step_sequence sequence = step.sequences[i];
      const uint32_t* const* tables = tables_.data() + tables_.size();
      for (const uint32_t group : groups_) tables_.push_back(sequence.block_tables[group]);
      sequence.block_tables = tables;
      sequences_.push_back(sequence);
    }
    bindings_.assign(carried_.begin(), carried_.end());
    for (uint32_t i = 0; i < step.num_bindings; ++i) {
      const tenon_binding& binding = step.bindings[i];
      const uint32_t slot = own(binding.slot);
      if (std::ranges::find(bound_, slot) == bound_.end()) continue;
      const auto carried = std::ranges::find(bindings_, slot, &tenon_binding::slot);
      if (carried == bindings_.end()) {
        bindings_.push_back({slot, 0, binding.data});
      } else {
        // A result that other parts also read: all use the step's memory.
        carried->data = binding.data;
      }
    }
    step_ = step;
    step_.num_pools = static_cast<uint32_t>(pools_.size());
    step_.pools = pools_.data();
    step_.sequences = sequences_.data();
    step_.bindings = bindings_.data();
    step_.num_bindings = static_cast<uint32_t>(bindings_.size());
    step_.after = TENON_NO_TICKET;
    return step_;
  }

 private:
  Executable executable_;
  uint32_t device_;
  std::vector<uint32_t> groups_;        // indices in the whole program
  std::vector<uint32_t> own_slots_;     // [slots of the whole program]; empty if numbers are equal
  std::vector<uint32_t> bound_;         // own slots of inputs and results
  std::vector<tenon_binding> carried_;  // between parts
  std::vector<tenon_step_sequence> sequences_;
  std::vector<const uint32_t*> tables_;  // [sequences, groups]
  std::vector<tenon_cache_pool> pools_;
  std::vector<tenon_binding> bindings_;
  tenon_step step_{};
};

PlacedExecutable::PlacedExecutable(const PlacedDevice& device, const Program& program)
    : devices_{device}, group_devices_(program.groups().size(), 0) {
  parts_.push_back(std::make_unique<Part>(device.device, 0, program));
  main_ = &parts_.back()->executable();
  for (uint32_t group = 0; group < group_devices_.size(); ++group) {
    block_bytes_.push_back(main_->block_bytes(group));
  }
}

PlacedExecutable::PlacedExecutable(std::span<const PlacedDevice> devices, const CutProgram& cut,
                                   const std::shared_ptr<System>& system)
    : block_bytes_(cut.whole.groups().size(), 0) {
  std::map<uint32_t, uint32_t> numbers;  // new index of each device in use
  for (const ProgramPart& part : cut.parts) {
    const auto [found, is_new] =
        numbers.try_emplace(part.device, static_cast<uint32_t>(devices_.size()));
    if (is_new) devices_.push_back(devices[part.device]);
    parts_.push_back(std::make_unique<Part>(devices[part.device].device, found->second, part,
                                            cut.whole.slots().size()));
    const Executable& executable = parts_.back()->executable();
    for (uint32_t i = 0; i < part.groups.size(); ++i) {
      uint64_t& bytes = block_bytes_[part.groups[i]];
      const uint64_t here = executable.block_bytes(i);
      if (bytes != 0 && bytes != here) {
        executable.device()->break_with(
            fmt::format("block_bytes is {} in one program and {} in another with the same cache "
                        "group",
                        bytes, here));
      }
      bytes = here;
    }
  }
  for (const uint32_t device : cut.group_devices) group_devices_.push_back(numbers.at(device));
  main_ = &parts_.back()->executable();
  carry(cut, system);
}

PlacedExecutable::~PlacedExecutable() = default;

/// Allocates memory for slots carried between parts, from the writing part to the last reader.
void PlacedExecutable::carry(const CutProgram& cut, const std::shared_ptr<System>& system) {
  struct Area {
    uint64_t bytes;
    size_t last_part;
    std::vector<uint32_t> slots;
  };
  std::vector<Area> areas;
  const tenon_program& whole = cut.whole.view();
  for (size_t part = 0; part < parts_.size(); ++part) {
    for (const uint32_t result : cut.parts[part].program.results()) {
      const uint32_t slot = cut.parts[part].slots[result];
      size_t last = part;
      for (size_t later = part + 1; later < parts_.size(); ++later) {
        if (parts_[later]->has(slot)) last = later;
      }
      if (last == part) continue;  // a result only
      const bool outputs = whole.slots[slot].row_class == TENON_ROWS_OUTPUTS;
      const uint64_t rows = outputs ? whole.max_outputs : whole.max_tokens;
      const uint64_t values =
          checked_mul(rows, whole.slots[slot].columns, "activation", Code::Limit);
      const uint64_t bytes = checked_mul(values, sizeof(float), "activation", Code::Limit);
      auto area =
          std::ranges::find_if(areas, [&](const Area& one) { return one.last_part < part; });
      if (area == areas.end()) area = areas.insert(areas.end(), Area{0, 0, {}});
      area->bytes = std::max(area->bytes, bytes);
      area->last_part = last;
      area->slots.push_back(slot);
    }
  }
  for (const Area& area : areas) {
    carried_.emplace_back(system, area.bytes, "activations between devices");
    for (const uint32_t slot : area.slots) {
      for (const auto& part : parts_) {
        if (part->has(slot)) part->bind(slot, carried_.back().data());
      }
    }
  }
}

uint64_t PlacedExecutable::carried_bytes() const {
  uint64_t bytes = 0;
  for (const Buffer& buffer : carried_) bytes += buffer.size();
  return bytes;
}

uint64_t PlacedExecutable::memory_bytes(uint32_t purpose, uint32_t device) const {
  uint64_t bytes = 0;
  for (const auto& part : parts_) {
    if (part->device() == device) bytes += part->executable().memory_bytes(purpose);
  }
  return bytes;
}

uint64_t PlacedExecutable::memory_bytes(uint32_t purpose) const {
  uint64_t bytes = purpose == TENON_MEMORY_SCRATCH ? carried_bytes() : 0;
  for (uint32_t device = 0; device < devices_.size(); ++device) {
    bytes += memory_bytes(purpose, device);
  }
  return bytes;
}

uint64_t PlacedExecutable::cache_limit(uint32_t device) const {
  const uint64_t budget = devices_[device].memory_bytes;
  if (budget == UINT64_MAX) return budget;
  const uint64_t held =
      memory_bytes(TENON_MEMORY_WEIGHTS, device) + memory_bytes(TENON_MEMORY_SCRATCH, device);
  return budget - std::min(budget, held);
}

uint32_t PlacedExecutable::steps_under_way() const {
  return parts_.size() == 1 ? device()->info().steps_under_way : 1;
}

uint64_t PlacedExecutable::row_granularity(Slot slot) {
  const auto number = static_cast<uint32_t>(slot);
  uint64_t rows = 1;
  for (const auto& part : parts_) {
    if (part->has(number)) {
      rows = std::lcm(rows, part->executable().row_granularity(part->own(number)));
    }
  }
  return rows;
}

void PlacedExecutable::load_rows(Slot slot, uint64_t first_row, uint64_t num_rows,
                                 std::span<const std::byte> blocks) {
  const auto number = static_cast<uint32_t>(slot);
  for (const auto& part : parts_) {
    if (part->has(number)) {
      part->executable().load_rows(part->own(number), first_row, num_rows, blocks);
    }
  }
}

void PlacedExecutable::seal() {
  for (const auto& part : parts_) part->executable().seal();
}

uint64_t PlacedExecutable::submit(const tenon_step& step) {
  if (parts_.size() == 1) return main_->submit(step);
  for (size_t i = 0; i + 1 < parts_.size(); ++i) {
    parts_[i]->executable().run(parts_[i]->lay_out(step));
  }
  return main_->submit(parts_.back()->lay_out(step));
}

// ---- Its cache ----------------------------------------------------------------------------------

std::vector<BlockPoolOptions> cache_groups(const Program& program,
                                           const PlacedExecutable& executable) {
  std::vector<uint64_t> block_bytes;
  for (uint32_t i = 0; i < program.groups().size(); ++i) {
    block_bytes.push_back(executable.block_bytes(i));
  }
  return block_pool_options(program.groups(), block_bytes,
                            executable.device()->info().block_tokens);
}

std::vector<DeviceCache> device_caches(std::span<const BlockPoolOptions> groups,
                                       const PlacedExecutable& executable,
                                       std::vector<uint32_t>* numbers) {
  std::vector<DeviceCache> caches;
  uint32_t last = UINT32_MAX;
  for (uint32_t group = 0; group < groups.size(); ++group) {
    const uint32_t number = executable.group_device(group);
    if (std::exchange(last, number) != number) {
      DeviceCache& cache = caches.emplace_back();
      cache.slab_bytes = executable.devices()[number].device->info().slab_bytes;
      cache.limit_bytes = executable.cache_limit(number);
      if (numbers != nullptr) numbers->push_back(number);
    }
    caches.back().groups.push_back(groups[group]);
  }
  return caches;
}

std::vector<uint64_t> device_cache_bytes(const Program& program, const PlacedExecutable& executable,
                                         const TextSizes& sizes) {
  std::vector<uint64_t> bytes(executable.devices().size(), 0);
  std::vector<uint32_t> numbers;
  const auto caches = device_caches(cache_groups(program, executable), executable, &numbers);
  for (size_t i = 0; i < caches.size(); ++i) {
    bytes[numbers[i]] = least_cache_budget(caches[i].groups, sizes, caches[i].slab_bytes);
  }
  return bytes;
}

}  // namespace tenon
