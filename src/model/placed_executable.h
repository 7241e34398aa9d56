// A program over the devices that it is placed on. One device that runs all of it is the usual case,
// and costs nothing here. Which device gets what is decided in device_placement.h.
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

/// A device of a model and what it may hold.
struct PlacedDevice {
  std::shared_ptr<Device> device;
  uint64_t memory_bytes = UINT64_MAX;  ///< budget for weights, scratch and cache together
  uint32_t layers = 0;                 ///< of the model that are on it

  /// Whether it holds what is on it in memory of its own, not in the process's.
  [[nodiscard]] bool has_own_memory() const {
    const uint32_t kind = device->info().kind;
    return kind == TENON_DEVICE_GPU || kind == TENON_DEVICE_ACCELERATOR;
  }
};

/// Runs steps of the whole program: its parts one after another, each with the results of those before
/// it as inputs. One call at a time, but for load_rows.
class PlacedExecutable : public WeightSink {
 public:
  /// All of it on one device.
  PlacedExecutable(const PlacedDevice& device, const Program& program);
  /// Devices that no part is on are left out. `cut.whole` must live until the constructor returns.
  /// Throws what compiling throws, and NoMemory.
  ///   devices  by the numbers that the parts have
  PlacedExecutable(std::span<const PlacedDevice> devices, const CutProgram& cut,
                   const std::shared_ptr<System>& system);
  ~PlacedExecutable() override;

  /// The device of the logits, which draws, and whose threads the others share.
  [[nodiscard]] const std::shared_ptr<Device>& device() const { return main_->device(); }
  /// Those in use, in the order in which steps come to them.
  [[nodiscard]] std::span<const PlacedDevice> devices() const { return devices_; }
  /// The number of a cache group's device in devices(). Groups of one device stand side by side.
  [[nodiscard]] uint32_t group_device(uint32_t group) const { return group_devices_[group]; }
  [[nodiscard]] uint64_t block_bytes(uint32_t group) const { return block_bytes_[group]; }
  /// Of all devices; the activations that go from part to part are scratch.
  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose) const;
  /// The same of one; those activations are in the host's memory, and in none of them.
  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose, uint32_t device) const;
  [[nodiscard]] uint64_t carried_bytes() const;
  /// What a device has left for the cache; UINT64_MAX: that is not known here.
  [[nodiscard]] uint64_t cache_limit(uint32_t device) const;
  [[nodiscard]] size_t num_parts() const { return parts_.size(); }
  /// Steps that may be under way: with several parts one.
  [[nodiscard]] uint32_t steps_under_way() const;

  uint64_t row_granularity(Slot slot) override;
  void load_rows(Slot slot, uint64_t first_row, uint64_t num_rows,
                 std::span<const std::byte> blocks) override;
  void seal();

  /// As Executable's. With several parts all but the last one have ended when submit() returns.
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
  Executable* main_ = nullptr;  // of the last part
  std::vector<uint32_t> group_devices_;
  std::vector<uint64_t> block_bytes_;
  std::vector<Buffer> carried_;  // between parts, used again by later ones
};

/// What pools are told of the cache groups of a program [groups].
std::vector<BlockPoolOptions> cache_groups(const Program& program,
                                           const PlacedExecutable& executable);

/// The same of each device that has any, in the order of groups.
///   groups   as of cache_groups()
///   numbers  [out] of these devices in executable.devices(); null: not wanted
std::vector<DeviceCache> device_caches(std::span<const BlockPoolOptions> groups,
                                       const PlacedExecutable& executable,
                                       std::vector<uint32_t>* numbers = nullptr);

/// Of each of executable.devices() the least part of a budget that has room for the cache of texts.
std::vector<uint64_t> device_cache_bytes(const Program& program, const PlacedExecutable& executable,
                                         const TextSizes& sizes);

}  // namespace tenon
