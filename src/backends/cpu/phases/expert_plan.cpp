#include "backends/cpu/phases/expert_plan.h"

#include <algorithm>
#include <atomic>

namespace tenon::cpu {

void ExpertPlan::carve(Carver& carver) {
  next_ = carver.take<uint32_t>(experts_);
  pairs_ = carver.take<uint32_t>(max_pairs());
  active_ = carver.take<ExpertRows>(max_active());
}

uint64_t ExpertPlan::max_places() const {
  return max_pairs() + (kRowInterleave - 1) * max_active();
}

bool ExpertPlan::finish_row(uint64_t num_rows) noexcept {
  const std::atomic_ref<uint32_t> finished(num_finished_);
  return finished.fetch_add(1, std::memory_order_acq_rel) + 1 == num_rows;
}

void ExpertPlan::sort(const int32_t* ids, uint64_t num_rows) noexcept {
  const auto expert = [&](uint64_t row, uint32_t j) {
    return static_cast<uint32_t>(ids[row * used_ + j]);
  };
  std::fill_n(next_, experts_, 0u);
  for (uint64_t row = 0; row < num_rows; ++row) {
    for (uint32_t j = 0; j < used_; ++j) ++next_[expert(row, j)];
  }
  uint32_t place = 0;
  num_active_ = num_pairs_ = 0;
  for (uint32_t e = 0; e < experts_; ++e) {
    const uint32_t count = next_[e];
    if (count == 0) continue;
    active_[num_active_++] = {e, num_pairs_, place, count};
    next_[e] = num_pairs_;
    num_pairs_ += count;
    place += (count + kRowInterleave - 1) / kRowInterleave * kRowInterleave;
  }
  for (uint64_t row = 0; row < num_rows; ++row) {
    for (uint32_t j = 0; j < used_; ++j) {
      pairs_[next_[expert(row, j)]++] = static_cast<uint32_t>(row * used_ + j);
    }
  }
}

const ExpertRows& ExpertPlan::expert_of(uint32_t index) const noexcept {
  const ExpertRows* after =
      std::upper_bound(active_, active_ + num_active_, index,
                       [](uint32_t i, const ExpertRows& rows) { return i < rows.first; });
  return after[-1];
}

namespace {

/// Advances the pointers of the byte format, if present, by `values` values.
void advance_bytes(QuantRows& view, uint64_t values) noexcept {
  if (view.q == nullptr) return;
  view.q += values;
  view.biased += values;
  view.d += values / kActivationBlock;
  view.sums += values / kActivationBlock;
  view.half_sums += values / kHalfBlock;
  view.totals += values / kHalfBlock;
}

}  // namespace

QuantRows rows_from(const QuantRows& rows, uint64_t place, uint64_t num_rows) noexcept {
  QuantRows view = rows;
  const uint64_t values = place * rows.columns;
  view.num_rows = num_rows;
  if (rows.fixed != nullptr) {
    view.fixed = rows.fixed_at(place, 0);
    view.fixed_d = rows.fixed_scale_at(place, 0);
  }
  advance_bytes(view, values);
  return view;
}

// Keeps `columns` of the whole rows, the distance between groups of rows.
QuantRows columns_from(const QuantRows& rows, uint64_t column) noexcept {
  QuantRows view = rows;
  const uint64_t values = column * rows.interleave();
  if (rows.fixed != nullptr) {
    view.fixed = rows.fixed_at(0, column);
    view.fixed_d = rows.fixed_scale_at(0, column);
  }
  advance_bytes(view, values);
  return view;
}

}  // namespace tenon::cpu
