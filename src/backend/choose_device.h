// Chooses the device that runs a program: a named backend, or the first that can. Opens named
// devices for a program that is cut.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/device.h"
#include "base/log.h"
#include "base/system.h"
#include "tenon/backend.h"

namespace tenon {

struct DeviceChoice {
  /// A backend's name, or "auto": the first device, in registry order, that knows all options and
  /// runs every operation. REFERENCE devices are used only by their backend's name.
  std::string backend = "auto";
  Device::Options options;  ///< passed to the backend unchanged
  std::vector<std::string> plugin_paths;
  std::shared_ptr<System> system = System::real();
  Log log;  ///< reports unused plugins and backends with their reasons
  /// Makes the services of a device; called once per device tried.
  std::function<std::unique_ptr<HostServices>()> make_services;
  /// Names an operation of the program in messages: "operation 12 (linear)".
  std::function<std::string(uint32_t op)> op_label;
};

/// Opens a device that runs the whole program. Throws Argument for an unknown backend or option,
/// with the nearest name; Unsupported with the reason of each device; Plugin, and the devices'
/// errors.
std::shared_ptr<Device> choose_device(const tenon_program& program, const DeviceChoice& choice);

/// A device's backend and name.
struct DeviceName {
  std::string backend;
  std::string device;  ///< name or index; empty: the first usable device
};

/// Usable GPUs and accelerators of a backend, or with "auto" of the first backend that has any; may
/// be empty. Throws Argument for an unknown backend.
std::vector<DeviceName> find_accelerators(const DeviceChoice& choice);

/// Opens the devices `names`, regardless of the program, each with those of choice.options that its
/// backend lists. Throws Argument for an unknown name and for an option that none of the backends
/// lists, Unsupported with the device's reason.
std::vector<std::shared_ptr<Device>> open_devices(std::span<const DeviceName> names,
                                                  const DeviceChoice& choice);

}  // namespace tenon
