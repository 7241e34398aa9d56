// The backend under test, as the command line of test_conformance names it, and the one it is
// compared with.
#pragma once

#include <memory>
#include <string>

#include "backend/device.h"
#include "base/system.h"
#include "base/thread_team.h"

namespace tenon::conformance {

/// A backend and the options its devices are made with.
struct Target {
  Backend backend;
  Device::Options options;
};

/// The backend under test.
const Target& target();
void set_target(Target target);
/// What its device says about itself.
const tenon_device_info& target_info();
/// It promises the same bits in any batch and in any slices.
inline bool is_batch_invariant() {
  return (target_info().flags & TENON_DEVICE_BATCH_INVARIANT) != 0;
}
/// The linked-in reference backend.
const Target& reference();

/// What a device works with.
struct Host {
  uint32_t threads = 2;
  const Executor* executor = nullptr;        ///< instead of own threads
  std::shared_ptr<System> system = nullptr;  ///< null: the real one
};

std::shared_ptr<Device> make_device(const Target& target, const Host& host = {});
/// The device of all programs that run on this target with a host like this, as an application has one for all its
/// models: kernels that it has made for one program serve the next. A new one where the host has an executor or a
/// system of its own.
std::shared_ptr<Device> shared_device(const Target& target, const Host& host);
/// Lets go of what shared_device() keeps. After a test that failed, so that the next one has a device of its own, and
/// before the process ends.
void release_shared_devices();

}  // namespace tenon::conformance
