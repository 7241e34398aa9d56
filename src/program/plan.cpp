#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "program/program.h"

namespace tenon {
namespace {

constexpr uint64_t kAlignment = 64;  // a cache line, and the widest vector register
constexpr uint32_t kNever = 0xFFFFFFFFu;

/// An activation to place: alive from its writer to its last reader.
struct Interval {
  uint32_t slot;
  uint32_t first_op;
  uint32_t last_op;
  uint64_t size_bytes;
  uint64_t offset = 0;

  [[nodiscard]] bool lives_with(const Interval& other) const {
    return first_op <= other.last_op && other.first_op <= last_op;
  }
  [[nodiscard]] uint64_t end() const { return offset + size_bytes; }
};

uint64_t slot_bytes(const tenon_slot& slot, const StepLimits& limits) {
  // A sequence has at least one token.
  const uint64_t rows =
      slot.row_class == TENON_ROWS_OUTPUTS ? limits.max_outputs : limits.max_tokens;
  const uint64_t values = checked_mul(rows, slot.columns, "activation", Code::Limit);
  const uint64_t bytes = checked_mul(values, sizeof(float), "activation", Code::Limit);
  return checked_align_up(bytes, kAlignment, "activation", Code::Limit);
}

std::vector<Interval> find_intervals(std::span<const tenon_slot> slots,
                                     std::span<const tenon_op> ops,
                                     std::span<const uint32_t> results, const StepLimits& limits) {
  std::vector<uint32_t> first(slots.size(), kNever);
  std::vector<uint32_t> last(slots.size(), 0);
  for (uint32_t i = 0; i < ops.size(); ++i) {
    for (const uint32_t output : ops[i].outputs) {
      if (output != TENON_NO_SLOT) first[output] = last[output] = i;
    }
    for (const uint32_t input : ops[i].inputs) {
      if (input != TENON_NO_SLOT) last[input] = i;
    }
  }
  std::vector<Interval> intervals;
  for (uint32_t slot = 0; slot < slots.size(); ++slot) {
    const bool planned = slots[slot].kind == TENON_SLOT_ACTIVATION && first[slot] != kNever &&
                         std::find(results.begin(), results.end(), slot) == results.end();
    if (!planned) continue;
    intervals.push_back({slot, first[slot], last[slot], slot_bytes(slots[slot], limits)});
  }
  return intervals;
}

/// Offset of the smallest gap for `interval` among `placed` (ascending offsets), or the end of all
/// that overlap in time.
uint64_t best_gap(const Interval& interval, const std::vector<Interval>& placed) {
  uint64_t end = 0;
  uint64_t best_offset = 0;
  uint64_t best_size = UINT64_MAX;
  for (const Interval& other : placed) {
    if (!other.lives_with(interval)) continue;
    const uint64_t gap = other.offset > end ? other.offset - end : 0;
    if (gap >= interval.size_bytes && gap < best_size) {
      best_size = gap;
      best_offset = end;
    }
    end = std::max(end, other.end());
  }
  return best_size == UINT64_MAX ? end : best_offset;
}

}  // namespace

// Places large slots first, each in the tightest gap during its lifetime. Near-optimal for chains
// with residuals; quadratic in at most a few thousand slots.
uint64_t plan_memory(std::span<tenon_slot> slots, std::span<const tenon_op> ops,
                     std::span<const uint32_t> results, const StepLimits& limits) {
  for (tenon_slot& slot : slots) slot.plan_offset = TENON_NO_PLAN;
  std::vector<Interval> intervals = find_intervals(slots, ops, results, limits);
  std::stable_sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
    return a.size_bytes > b.size_bytes;
  });
  std::vector<Interval> placed;
  uint64_t area = 0;
  for (Interval& interval : intervals) {
    interval.offset = best_gap(interval, placed);
    const uint64_t end =
        checked_add(interval.offset, interval.size_bytes, "activations", Code::Limit);
    area = std::max(area, end);
    slots[interval.slot].plan_offset = interval.offset;
    const auto at =
        std::upper_bound(placed.begin(), placed.end(), interval,
                         [](const Interval& a, const Interval& b) { return a.offset < b.offset; });
    placed.insert(at, interval);
  }
  return area;
}

}  // namespace tenon
