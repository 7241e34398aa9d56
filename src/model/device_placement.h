// Places a program over devices: opens them, finds out what they have room for, cuts and compiles.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/choose_device.h"
#include "kv/cache_forecast.h"
#include "model/device_options.h"
#include "model/model_executable.h"

namespace tenon {

/// A device that layers may go to.
struct OpenDevice {
  std::shared_ptr<Device> device;
  uint64_t memory_bytes = UINT64_MAX;  ///< that the model may take of it, its cache included
  std::optional<uint32_t> layers{};    ///< exactly so many
  bool takes_rest = false;             ///< the CPU: what the others leave
};

/// Those that the options name, in their order, or those of the backend; the CPU is always one of them.
/// Throws Argument and Unsupported, naming the option.
std::vector<OpenDevice> open_model_devices(const ModelOptions& options, const DeviceChoice& choice);

/// The device that was chosen for the whole program, and what it leaves to others where it is too
/// small: more of its kind from its backend, and the CPU. One where the program fits, by the formats of
/// its weights.
std::vector<OpenDevice> devices_beside(const std::shared_ptr<Device>& device,
                                       const BuiltProgram& built, const ModelOptions& options,
                                       const DeviceChoice& choice);

/// Places the layers, builds for the sizes of the devices in use, cuts and compiles. What a device is
/// to hold is estimated first; where what it compiled to is more than it has room for, layers move on.
std::unique_ptr<PlacedExecutable> place_program(BuiltProgram& built,
                                                std::span<const OpenDevice> devices,
                                                const ModelOptions& options,
                                                const BuildProgram& build);

/// Bytes that each of executable.devices() holds with the cache of some texts.
std::vector<uint64_t> device_bytes(const Program& program, const PlacedExecutable& executable,
                                   const TextSizes& sizes);

/// The sizes that suit devices: steps of the first one, blocks that suit all.
StepSizes sizes_of(std::span<const PlacedDevice> devices);

}  // namespace tenon
