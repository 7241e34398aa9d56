// Places a program over devices: opens them, measures their room, cuts and compiles.
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

/// A device that may get layers.
struct OpenDevice {
  std::shared_ptr<Device> device;
  uint64_t memory_bytes = UINT64_MAX;  ///< budget of the model, cache included
  std::optional<uint32_t> layers{};    ///< exact number of layers
  bool takes_rest = false;             ///< the CPU: takes the layers left over
};

/// Opens the devices that the options name, in their order, or those of the backend; always
/// includes the CPU. Throws Argument and Unsupported that name the option.
std::vector<OpenDevice> open_model_devices(const ModelOptions& options, const DeviceChoice& choice);

/// The device chosen for the whole program and, if that is too small by the formats of the weights,
/// more devices of its kind and backend, and the CPU.
std::vector<OpenDevice> devices_beside(const std::shared_ptr<Device>& device,
                                       const BuiltProgram& built, const ModelOptions& options,
                                       const DeviceChoice& choice);

/// Places the layers, builds for the sizes of the devices in use, cuts and compiles. Sizes are
/// estimated first; layers move on from a device whose compiled part exceeds its room.
std::unique_ptr<PlacedExecutable> place_program(BuiltProgram& built,
                                                std::span<const OpenDevice> devices,
                                                const ModelOptions& options,
                                                const BuildProgram& build);

/// Bytes held by each of executable.devices(), including the cache of some texts.
std::vector<uint64_t> device_bytes(const Program& program, const PlacedExecutable& executable,
                                   const TextSizes& sizes);

/// Sizes that suit devices: steps of the first device, blocks that suit all.
StepSizes sizes_of(std::span<const PlacedDevice> devices);

}  // namespace tenon
