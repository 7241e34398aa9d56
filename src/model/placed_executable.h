// A program over one or more devices. The usual single device has no overhead. device_placement.h
// decides the placement.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/executable.h"
#include "base/buffer.h"
#include "base/system.h"
#include "kv/cache_forecast.h"
#include "program/cut.h"
#include "program/program.h"
#include "weights/loader.h"

namespace tenon {

/// A device of a model and its budget.
struct PlacedDevice {
  std::shared_ptr<Device> device;
  uint64_t memory_bytes = UINT64_MAX;  ///< budget for weights, scratch and cache
  uint32_t layers = 0;                 ///< layers placed on it

  /// True if the device has its own memory, not the process's.
  [[nodiscard]] bool has_own_memory() const {
    const uint32_t kind = device->info().kind;
    return kind == TENON_DEVICE_GPU || kind == TENON_DEVICE_ACCELERATOR;
  }
};

/// Runs steps of the whole program, part after part; results of earlier parts are inputs of later
/// ones. One call at a time, except load_rows.
class PlacedExecutable : public WeightSink {
 public:
  /// Places the whole program on one device.
  PlacedExecutable(const PlacedDevice& device, const Program& program);
  /// Leaves out devices without a part. `cut.whole` must outlive the constructor call. Throws
  /// compile errors and NoMemory.
  ///   devices  indexed by ProgramPart::device
  PlacedExecutable(std::span<const PlacedDevice> devices, const CutProgram& cut,
                   const std::shared_ptr<System>& system);
  ~PlacedExecutable() override;

  /// Device of the logits: it draws, and the others share its threads.
  [[nodiscard]] const std::shared_ptr<Device>& device() const { return main_->device(); }
  /// Devices in use, in step order.
  [[nodiscard]] std::span<const PlacedDevice> devices() const { return devices_; }
  /// Index in devices() of a cache group's device. Groups of one device are adjacent.
  [[nodiscard]] uint32_t group_device(uint32_t group) const { return group_devices_[group]; }
  [[nodiscard]] uint64_t block_bytes(uint32_t group) const { return block_bytes_[group]; }
  /// Bytes of all devices; activations carried between parts count as scratch.
  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose) const;
  /// Bytes of one device, without carried activations, which lie in host memory.
  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose, uint32_t device) const;
  [[nodiscard]] uint64_t carried_bytes() const;
  /// Cache memory left on a device; UINT64_MAX if unknown.
  [[nodiscard]] uint64_t cache_limit(uint32_t device) const;
  [[nodiscard]] size_t num_parts() const { return parts_.size(); }
  /// Steps that may be under way; 1 with several parts.
  [[nodiscard]] uint32_t steps_under_way() const;

  uint64_t row_granularity(Slot slot) override;
  void load_rows(Slot slot, uint64_t first_row, uint64_t num_rows,
                 std::span<const std::byte> blocks) override;
  void seal();

  /// Like Executable's functions. With several parts, all but the last have ended when submit()
  /// returns.
  [[nodiscard]] uint64_t submit(const tenon_step& step);
  [[nodiscard]] bool draws() const { return main_->draws(); }
  [[nodiscard]] uint64_t draw(uint64_t step, std::span<const tenon_draw> draws) {
    return main_->draw(step, draws);
  }
  [[nodiscard]] bool has_ended(uint64_t ticket) const { return main_->has_ended(ticket); }
  void wait(uint64_t ticket) { main_->wait(ticket); }
  void run(const tenon_step& step) { wait(submit(step)); }

 private:
  class Part;
  void carry(const CutProgram& cut, const std::shared_ptr<System>& system);

  std::vector<PlacedDevice> devices_;
  std::vector<std::unique_ptr<Part>> parts_;
  Executable* main_ = nullptr;  // executable of the last part
  std::vector<uint32_t> group_devices_;
  std::vector<uint64_t> block_bytes_;
  std::vector<Buffer> carried_;  // between parts; reused by later parts
};

/// Pool options for the cache groups of a program [groups].
std::vector<BlockPoolOptions> cache_groups(const Program& program,
                                           const PlacedExecutable& executable);

/// Pool options per device that has groups, in the order of groups.
///   groups   from cache_groups()
///   numbers  [out] their indices in executable.devices(); may be null
std::vector<DeviceCache> device_caches(std::span<const BlockPoolOptions> groups,
                                       const PlacedExecutable& executable,
                                       std::vector<uint32_t>* numbers = nullptr);

/// Smallest part of a budget on each of executable.devices() that holds the cache of the texts.
std::vector<uint64_t> device_cache_bytes(const Program& program, const PlacedExecutable& executable,
                                         const TextSizes& sizes);

}  // namespace tenon
