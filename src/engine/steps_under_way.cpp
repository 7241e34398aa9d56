#include "engine/steps_under_way.h"

#include <algorithm>

#include "model/placed_executable.h"

namespace tenon {
namespace {

/// The next step waits in the device's queue while one runs. A third step would be prepared before
/// the tokens of the first are known.
constexpr uint32_t kMostSteps = 2;

/// One step if table rows come from the file: they are fetched before a step, so its tokens must be
/// known then. One step with an encoder: a device may reorder steps of two programs, and the
/// encoder's must not overtake writes to recycled blocks.
uint32_t steps_under_way(const Model& model) {
  if (model.trunk().fetcher != nullptr || model.find(ProgramRole::Encoder) != nullptr) return 1;
  return std::min(model.executable().steps_under_way(), kMostSteps);
}

}  // namespace

StepsUnderWay::StepsUnderWay(const Model& model,
                             std::span<const std::shared_ptr<BlockPool>> pools) {
  const uint32_t num_steps = steps_under_way(model);
  for (uint32_t i = 0; i < num_steps; ++i) {
    steps_.push_back(std::make_unique<Step>(model, pools, num_steps == 1));
  }
}

uint64_t StepsUnderWay::latest_ticket(const Turn&) {
  return num_ > 0 ? at(num_ - 1).ticket() : TENON_NO_TICKET;
}

void StepsUnderWay::start_next(const Turn& turn) noexcept {
  const uint64_t after = latest_ticket(turn);
  at(num_++).start(after);
}

void StepsUnderWay::pop(const Turn&) noexcept {
  at(0).clear();
  oldest_ = (oldest_ + 1) % steps_.size();
  --num_;
}

void StepsUnderWay::clear(const Turn&) noexcept {
  steps_.clear();
  num_ = 0;
}

bool StepsUnderWay::are_computing(const Turn&, Hash128 key) const {
  return std::ranges::any_of(steps_, [key](const auto& step) {
    return std::ranges::find(step->computing, key) != step->computing.end();
  });
}

void StepsUnderWay::let_go_of(const Turn&, Request& request) noexcept {
  if (request.num_under_way == 0) return;
  for (size_t i = 0; i < num_; ++i) {
    for (Slice& slice : at(i).slices()) {
      if (slice.request == &request) slice.request = nullptr;
    }
  }
  request.num_under_way = 0;
  if (request.control != nullptr) request.control->in_step.fetch_sub(1);
  request.sequence->roll_back();
}

}  // namespace tenon
