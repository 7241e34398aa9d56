// A compiled program on a device: its weights, its sizes, and its steps. What goes into a step is
// known above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/device.h"
#include "tenon/backend.h"

namespace tenon {

/// A compiled program on a device. One call at a time, but for load_rows.
class Executable {
 public:
  Executable(std::shared_ptr<Device> device, const tenon_program& program);
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  [[nodiscard]] const std::shared_ptr<Device>& device() const { return device_; }
  /// Asked once, in the constructor: pools and plans go by the same number.
  [[nodiscard]] uint64_t block_bytes(uint32_t group) const { return block_bytes_[group]; }
  [[nodiscard]] uint64_t row_granularity(uint32_t slot) const;
  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose) const;
  void load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows,
                 std::span<const std::byte> blocks);
  void seal();
  /// Starts a step; its ticket. What the step binds and its flag stay valid until wait() returns.
  [[nodiscard]] uint64_t submit(const tenon_step& step);
  /// Returns when the step has ended. Once for each ticket, in their order. Throws Plugin when a
  /// plugin left results unwritten.
  void wait(uint64_t ticket);
  /// A step from its start to its end.
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
    std::vector<std::span<uint32_t>> results;  // of plugins: marked until they are written
  };
  [[nodiscard]] std::vector<std::span<uint32_t>> results_of(const tenon_step& step) const;

  std::shared_ptr<Device> device_;
  std::unique_ptr<tenon_executable, Destroy> executable_;
  std::vector<uint64_t> block_bytes_;  // [groups]
  std::vector<Result> results_;
  std::vector<Step> steps_;  // under way
};

}  // namespace tenon
