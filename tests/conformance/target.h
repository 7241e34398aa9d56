// The tested backend, named on the command line of test_conformance, and the reference.
#pragma once

#include <memory>
#include <string>

#include "backend/device.h"
#include "base/system.h"
#include "base/thread_team.h"

namespace tenon::conformance {

/// A backend and options for its devices.
struct Target {
  Backend backend;
  Device::Options options;
};

/// The tested backend.
const Target& target();
void set_target(Target target);
/// Its device's description.
const tenon_device_info& target_info();
/// True if it guarantees equal bits in any batch and any slices.
inline bool is_batch_invariant() {
  return (target_info().flags & TENON_DEVICE_BATCH_INVARIANT) != 0;
}
/// The linked-in reference backend.
const Target& reference();

/// Host resources of a device.
struct Host {
  uint32_t threads = 2;
  const Executor* executor = nullptr;        ///< replaces own threads
  std::shared_ptr<System> system = nullptr;  ///< null: the real one
};

std::shared_ptr<Device> make_device(const Target& target, const Host& host = {});
/// The shared device of all programs on this target with an equal host, as applications use one
/// device for all models: compiled kernels are reused. A new device if the host has an executor or
/// a system.
std::shared_ptr<Device> shared_device(const Target& target, const Host& host);
/// Releases the devices of shared_device(): after a failed test, so that the next has its own
/// device, and before the process ends.
void release_shared_devices();

}  // namespace tenon::conformance
