// Which device runs a program: a backend by its name, or the first that can; and devices by their
// names, for a program that is cut. What the program computes is not known here.
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
  /// A backend's name; "auto": the first device, backends in the registry's order, that knows all
  /// options and runs every operation. One of kind REFERENCE is used only by its backend's name.
  std::string backend = "auto";
  Device::Options options;  ///< handed to the backend as they are
  std::vector<std::string> plugin_paths;
  std::shared_ptr<System> system = System::real();
  Log log;  ///< hears of plugins and backends that are not used, and why
  /// Makes the services of a device; called once for each that is tried.
  std::function<std::unique_ptr<HostServices>()> make_services;
  /// Names an operation of the program in messages: "operation 12 (linear)".
  std::function<std::string(uint32_t op)> op_label;
};

/// A device that runs the whole program. Throws Argument for an unknown backend or option, with the
/// nearest name; Unsupported with the reason of each device; Plugin, and what devices report.
std::shared_ptr<Device> choose_device(const tenon_program& program, const DeviceChoice& choice);

/// A device of a backend.
struct DeviceName {
  std::string backend;
  std::string device;  ///< its name or its number; empty: the first that can be used
};

/// Devices of GPUs and accelerators that can be used: of one backend, or with "auto" of the first that
/// has any. Empty where there are none. Throws Argument for an unknown backend.
std::vector<DeviceName> find_accelerators(const DeviceChoice& choice);

/// Each of `names`, whatever it can run, with those of choice.options that its backend knows. Throws
/// Argument for a name that there is not and an option that no backend of them knows, Unsupported with
/// the device's reason.
std::vector<std::shared_ptr<Device>> open_devices(std::span<const DeviceName> names,
                                                  const DeviceChoice& choice);

}  // namespace tenon
