// A compiled program on a device: its weights, sizes and steps. Callers fill the steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/device.h"
#include "tenon/backend.h"

namespace tenon {

/// A compiled program on a device. One call at a time, except load_rows.
class Executable {
 public:
  Executable(std::shared_ptr<Device> device, const tenon_program& program);
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  [[nodiscard]] const std::shared_ptr<Device>& device() const { return device_; }
  /// Queried once, in the constructor, so that pools and plans agree.
  [[nodiscard]] uint64_t block_bytes(uint32_t group) const { return block_bytes_[group]; }
  [[nodiscard]] uint64_t row_granularity(uint32_t slot) const;
  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose) const;
  void load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows,
                 std::span<const std::byte> blocks);
  void seal();
  /// Starts a step; returns its ticket. The step's bindings and flag must stay valid until wait()
  /// returns.
  [[nodiscard]] uint64_t submit(const tenon_step& step);
  /// True if the device draws tokens and accepts drawn tokens unknown to the host.
  [[nodiscard]] bool draws() const { return (device_->info().flags & TENON_DEVICE_DRAWS) != 0; }
  /// Draws from the logits of the latest step; returns a ticket. The results' memory must stay
  /// valid until wait() returns. Requires draws().
  [[nodiscard]] uint64_t draw(uint64_t step, std::span<const tenon_draw> draws);
  /// True if wait() would return at once, or the backend cannot tell.
  [[nodiscard]] bool has_ended(uint64_t ticket) const;
  /// Waits for the end of a step or draw; once per ticket, in ticket order. Throws Plugin if a
  /// plugin left results unwritten, drew an unknown token, or listed candidates out of order.
  void wait(uint64_t ticket);
  /// Submits a step and waits for its end.
  void run(const tenon_step& step) { wait(submit(step)); }

 private:
  struct Destroy {
    const Device* device;
    void operator()(tenon_executable* executable) const noexcept;
  };

  struct Result {
    uint32_t slot;
    uint32_t row_class;
    uint64_t columns;
  };
  struct Step {
    uint64_t ticket;
    const uint32_t* cancel;
    std::vector<std::span<uint32_t>> results;  // of plugins: marked until written
    std::vector<tenon_draw> draws;             // of a draw: destinations of tokens and candidates
  };
  [[nodiscard]] std::vector<std::span<uint32_t>> results_of(const tenon_step& step) const;
  void check_drawn(const tenon_draw& draw) const;

  std::shared_ptr<Device> device_;
  std::unique_ptr<tenon_executable, Destroy> executable_;
  std::vector<uint64_t> block_bytes_;  // [groups]
  std::vector<Result> results_;
  uint64_t vocab_ = 0;       // columns of the logits; 0 without logits
  std::vector<Step> steps_;  // under way
};

}  // namespace tenon
