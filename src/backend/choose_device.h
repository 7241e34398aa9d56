// Which device runs a program: a backend by its name, or the first that can. What the program
// computes is not known here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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

}  // namespace tenon
