#include "model/model_executable.h"

#include <algorithm>
#include <utility>

#include "backend/choose_device.h"
#include "base/control_groups.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "model/device_placement.h"
#include "program/ops.h"

namespace tenon {
namespace {

std::shared_ptr<ThreadTeam> make_team(const ModelOptions& options) {
  if (options.executor) return std::make_shared<ThreadTeam>(*options.executor);
  const uint32_t cpus = num_allowed_cpus(*options.system);
  const uint32_t threads = options.threads > 0 ? options.threads : cpus;
  return std::make_shared<ThreadTeam>(threads, options.system, cpus);
}

DeviceChoice device_choice(const Program& program, const ModelOptions& options) {
  DeviceChoice choice;
  choice.backend = options.backend;
  choice.options = options.backend_options;
  choice.plugin_paths = options.plugin_paths;
  choice.system = options.system;
  choice.log = options.log;
  // Parts run one after another, so one thread team serves all devices.
  choice.make_services = [&options, team = std::shared_ptr<ThreadTeam>()]() mutable {
    if (team == nullptr) team = make_team(options);
    ServiceOptions services;
    services.plans_only = options.plans_only;
    if (!options.kernel_cache.empty()) {
      services.kernel_cache =
          std::make_shared<KernelCache>(options.system, options.kernel_cache, options.log);
    }
    return std::make_unique<HostServices>(options.system, options.log, team, services);
  };
  choice.op_label = [&program](uint32_t op) { return op_label(op, program.ops()[op].kind); };
  return choice;
}

std::unique_ptr<PlacedExecutable> on_one_device(BuiltProgram& built, const OpenDevice& device,
                                                const ModelOptions& options,
                                                const BuildProgram& build) {
  const auto layers = static_cast<uint32_t>(built.model.layers.size());
  const PlacedDevice placed{device.device, device.memory_bytes, layers};
  const StepSizes sizes = sizes_of({&placed, 1});
  const StepSizes usual;
  const bool other_steps = options.slice == 0 && sizes.step_tokens != usual.step_tokens;
  if (other_steps || sizes.block_tokens != usual.block_tokens) built = build(sizes);
  return std::make_unique<PlacedExecutable>(placed, built.program);
}

/// Whether each device runs every operation.
bool all_run(std::span<const OpenDevice> devices, const Program& program) {
  const tenon_program& view = program.view();
  for (const OpenDevice& open : devices) {
    const Device& device = *open.device;
    for (uint32_t op = 0; op < view.num_ops; ++op) {
      const auto ask = [&] { return device.api().supports(device.get(), &view, op); };
      if (!device.guarded("supports", ask)) return false;
    }
  }
  return true;
}

/// Devices by the options.
struct ChosenDevices {
  std::vector<OpenDevice> devices;
  bool are_placed;  ///< the program is cut
};

ChosenDevices choose_devices(const BuiltProgram& built, const ModelOptions& options,
                             const DeviceChoice& choice) {
  if (asks_for_placement(options)) {
    if (built.model.encoder_layers.empty()) return {open_model_devices(options, choice), true};
    // The encoder writes to its decoder's cache, so both need one device.
    const std::optional<DeviceName> only = only_device(options);
    if (!only) {
      fail(Code::Unsupported,
           "\"{}\" is an encoder and a decoder, which run on one device: name it alone in devices, "
           "without device_memory, gpu_layers and experts_on",
           built.model.architecture);
    }
    return {{{open_devices({&*only, 1}, choice).front()}}, false};
  }
  std::vector<OpenDevice> devices =
      devices_beside(choose_device(built.program.view(), choice), built, options, choice);
  const bool are_several = devices.size() > 1;
  return {std::move(devices), are_several};
}

}  // namespace

std::unique_ptr<PlacedExecutable> make_executable(const Program& program,
                                                  const ModelOptions& options) {
  const DeviceChoice choice = device_choice(program, options);
  const std::vector<WantedDevice> wanted = parse_devices(options);
  const std::shared_ptr<Device> device = wanted.empty()
                                             ? choose_device(program.view(), choice)
                                             : open_devices({&wanted[0].name, 1}, choice).front();
  return std::make_unique<PlacedExecutable>(PlacedDevice{device}, program);
}

std::unique_ptr<PlacedExecutable> make_executable(BuiltProgram& built, const ModelOptions& options,
                                                  const BuildProgram& build) {
  const DeviceChoice choice = device_choice(built.program, options);
  if (!has_packed_weights(built.program)) {
    const ChosenDevices chosen = choose_devices(built, options, choice);
    if (chosen.are_placed) return place_program(built, chosen.devices, options, build);
    return on_one_device(built, chosen.devices[0], options, build);
  }
  // Devices are chosen as for decoded weights, which all of them run.
  BuildProgram build_decoded = [&](StepSizes sizes) {
    sizes.decodes_packed = true;
    return build(sizes);
  };
  BuiltProgram packed = std::exchange(built, build_decoded({}));
  const ChosenDevices chosen = choose_devices(built, options, choice);
  const bool stays_packed = all_run(chosen.devices, packed.program);
  if (stays_packed) {
    built = std::move(packed);
  } else {
    options.log(LogLevel::Info, "packed weights are decoded to f32: not all devices read them");
  }
  const BuildProgram& rebuild = stays_packed ? build : build_decoded;
  if (chosen.are_placed) return place_program(built, chosen.devices, options, rebuild);
  return on_one_device(built, chosen.devices[0], options, rebuild);
}

}  // namespace tenon
