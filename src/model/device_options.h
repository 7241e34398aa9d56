// Options that place a model's layers: devices, device_memory, gpu_layers, experts_on. Applied in
// model_executable.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/choose_device.h"
#include "model/model.h"

namespace tenon {

/// An entry of the option `devices`: "vulkan", "vulkan:1", "cpu=4".
struct WantedDevice {
  DeviceName name;
  std::optional<uint32_t> layers{};        ///< exact number of layers
  std::optional<uint64_t> memory_bytes{};  ///< from device_memory
};

/// Throws Argument that names the option.
std::vector<WantedDevice> parse_devices(const ModelOptions& options);

/// True if the options ask for more than one device that runs everything.
bool asks_for_placement(const ModelOptions& options);

/// The device that the options name for the whole model ("vulkan:1"); empty if they say more.
std::optional<DeviceName> only_device(const ModelOptions& options);

/// Throws Argument for invalid devices and sizes.
void check_device_options(const ModelOptions& options);

}  // namespace tenon
