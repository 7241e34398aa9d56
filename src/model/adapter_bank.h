// The bank of a model's adapters: slots whose weights change while other requests run.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/adapter/adapter.h"
#include "backend/device_turn.h"
#include "base/hash.h"
#include "base/system.h"
#include "model/model_program.h"

namespace tenon {

/// A slot with a sum of adapters, which stays as it is while anybody has the lease.
struct AdapterLease {
  uint32_t slot = 0;  ///< 1 and above
  Hash128 key;        ///< of the adapters and their scales
};

/// Used from any thread. Adapters whose lease nobody has keep their slot until another sum needs
/// it; the least recently taken one goes first.
class AdapterBank {
 public:
  /// Requires a program with adapter sites and an executable; all must outlive the bank.
  AdapterBank(const ModelProgram& program, DeviceTurn& turn, std::shared_ptr<System> system);

  /// The slot of a sum, which is loaded if no slot has it; null for none, or scales of 0. The order
  /// of the adapters does not matter. Waits for steps that run. Throws as factors_of_sites, Busy if
  /// all slots are in use, NoMemory, and the backend's errors.
  [[nodiscard]] std::shared_ptr<const AdapterLease> take(std::span<const ScaledAdapter> adapters);

  /// Throws what take() would, except Busy.
  void check(std::span<const ScaledAdapter> adapters) const;

  /// Slots for adapters.
  [[nodiscard]] uint32_t num_slots() const { return static_cast<uint32_t>(slots_.size()); }
  /// Slots that somebody uses.
  [[nodiscard]] uint32_t num_used() const;

 private:
  struct Place {
    Hash128 key;  ///< zero for an empty slot
    std::weak_ptr<const AdapterLease> lease;
    uint64_t taken = 0;  ///< number of the latest take()
  };
  void load(uint32_t slot, std::span<const ScaledAdapter> adapters);

  const ModelProgram& program_;
  DeviceTurn& turn_;
  std::shared_ptr<System> system_;
  mutable std::mutex mutex_;
  std::vector<Place> slots_;  // slot 1 comes first
  uint64_t takes_ = 0;
};

/// Memory of a bank, in f32.
uint64_t adapter_bytes(const AdapterSites& sites);

/// Loads zeros into all slots of a program's bank, before it is sealed.
void clear_adapters(const ModelProgram& program);

/// Throws Unsupported, naming the model, if a device refuses other weights after seal().
void expect_loadable_adapters(const ModelProgram& program, std::string_view model);

}  // namespace tenon
