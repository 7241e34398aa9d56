// The steps that an engine has on the device, in order. The engine fills and settles them.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "backend/device_turn.h"
#include "engine/step.h"
#include "model/model.h"

namespace tenon {

/// All but stop() needs the device's turn. Slices of steps under way also need the engine's lock.
class StepsUnderWay {
 public:
  using Turn = DeviceTurn::Held;

  StepsUnderWay(const Model& model, std::span<const std::shared_ptr<BlockPool>> pools);

  /// True if a step may begin while another runs.
  [[nodiscard]] bool overlap() const { return steps_.size() > 1; }
  [[nodiscard]] bool is_empty(const Turn&) const { return num_ == 0; }
  [[nodiscard]] bool is_full(const Turn&) const { return num_ == steps_.size(); }
  [[nodiscard]] bool has_one(const Turn&) const { return num_ == 1; }
  [[nodiscard]] Step& oldest(const Turn&) { return at(0); }
  /// The step after the oldest; requires two.
  [[nodiscard]] Step& second(const Turn&) { return at(1); }
  /// The step to fill; requires that the steps are not full.
  [[nodiscard]] Step& next(const Turn&) { return at(num_); }
  /// Ticket of the latest step, or TENON_NO_TICKET.
  [[nodiscard]] uint64_t latest_ticket(const Turn&);
  /// Starts next() after the latest step.
  void start_next(const Turn& turn) noexcept;
  /// Clears the oldest step, which has ended.
  void pop(const Turn&) noexcept;
  /// Frees all steps.
  void clear(const Turn&) noexcept;

  /// Stops the running steps. Any thread and signal handlers.
  void stop() noexcept {
    for (const auto& step : steps_) step->stop();
  }

  /// True if a step computes the block with this key.
  [[nodiscard]] bool are_computing(const Turn&, Hash128 key) const;
  /// Detaches a request from its steps. They may still write to its blocks, but before any later
  /// step, so the blocks can be reused.
  void let_go_of(const Turn&, Request& request) noexcept;

 private:
  [[nodiscard]] Step& at(size_t index) { return *steps_[(oldest_ + index) % steps_.size()]; }

  std::vector<std::unique_ptr<Step>> steps_;
  size_t oldest_ = 0;
  size_t num_ = 0;  // under way
};

}  // namespace tenon
