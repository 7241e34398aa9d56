// The options that say where a model's layers go: devices, device_memory, gpu_layers, experts_on. What
// becomes of them is in model_executable.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/choose_device.h"
#include "model/model.h"

namespace tenon {

/// One of the option `devices`: "vulkan", "vulkan:1", "cpu=4".
struct WantedDevice {
  DeviceName name;
  std::optional<uint32_t> layers{};        ///< exactly so many
  std::optional<uint64_t> memory_bytes{};  ///< of device_memory
};

/// Throws Argument naming the option.
std::vector<WantedDevice> parse_devices(const ModelOptions& options);

/// Whether the options ask for more than one device that runs everything.
bool asks_for_placement(const ModelOptions& options);

/// The one device that they name for everything, where they say no more than that: "vulkan:1".
std::optional<DeviceName> only_device(const ModelOptions& options);

/// Throws Argument for devices and sizes that mean nothing.
void check_device_options(const ModelOptions& options);

}  // namespace tenon
