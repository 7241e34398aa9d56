#include "backends/gpu/activation_places.h"

#include <algorithm>

#include "abi/failure.h"
#include "abi/sizes.h"
#include "abi/step_rules.h"
#include "backends/gpu/chunk_plan.h"

namespace tenon::gpu {
namespace {

uint64_t whole_lines(uint64_t bytes) {
  constexpr uint64_t kLine = ChunkPlan::kAlignment;
  return backends::add(bytes, kLine - 1, "activations") / kLine * kLine;
}

bool is_placed(const tenon_slot& slot) {
  return slot.kind == TENON_SLOT_ACTIVATION || slot.kind == TENON_SLOT_INPUT;
}

}  // namespace

ActivationPlaces::ActivationPlaces(const backends::ProgramCopy& program)
    : offsets(program.slots().size()), program_(program) {
  const std::span<const uint32_t> bound = program.bound();
  const uint64_t planned = program.view().activation_bytes;
  area_bytes = whole_lines(planned);
  for (uint32_t i = 0; i < offsets.size(); ++i) {
    const tenon_slot& slot = program.slots()[i];
    if (!is_placed(slot)) continue;
    const uint64_t rows = backends::max_rows(program.view(), slot.row_class);
    const uint64_t bytes =
        backends::multiply(backends::multiply(rows, slot.columns, slot.name), 4, slot.name);
    const bool is_bound = std::ranges::find(bound, i) != bound.end();
    if (is_bound || slot.plan_offset == TENON_NO_PLAN) {
      offsets[i] = area_bytes;
      area_bytes = backends::add(area_bytes, whole_lines(bytes), slot.name);
    } else {
      offsets[i] = slot.plan_offset;
      const uint64_t end = backends::add(slot.plan_offset, bytes, slot.name);
      if (end > planned || slot.plan_offset % sizeof(float) != 0) {
        backends::refuse(TENON_BACKEND_ARGUMENT, "slot \"{}\" leaves the planned area", slot.name);
      }
    }
    if (slot.kind == TENON_SLOT_INPUT) {
      inputs.push_back({i, input_bytes});
      input_bytes = backends::add(input_bytes, whole_lines(bytes), slot.name);
    } else if (is_bound) {
      results.push_back({i, result_bytes});
      result_bytes = backends::add(result_bytes, whole_lines(bytes), slot.name);
    }
  }
  area_bytes += ChunkPlan::kAlignment;  // kernels read eight floats at a time, past the end too
}

void ActivationPlaces::place(Address area, SlotPlaces& places) const {
  places.addresses.assign(offsets.size(), 0);
  places.row_bytes.assign(offsets.size(), 0);
  places.is_small.assign(offsets.size(), 0);
  places.in_units.assign(offsets.size(), 0);
  places.row_factors.assign(offsets.size(), 0);
  for (uint32_t i = 0; i < offsets.size(); ++i) {
    if (is_placed(program_.slots()[i])) places.addresses[i] = area + offsets[i];
  }
}

}  // namespace tenon::gpu
