#include "model/model_executable.h"

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
  if (!built.model.encoder_layers.empty() && asks_for_placement(options)) {
    // The encoder writes to its decoder's cache, so both need one device.
    const std::optional<DeviceName> only = only_device(options);
    if (!only) {
      fail(Code::Unsupported,
           "\"{}\" is an encoder and a decoder, which run on one device: name it alone in devices, "
           "without device_memory, gpu_layers and experts_on",
           built.model.architecture);
    }
    return on_one_device(built, {open_devices({&*only, 1}, choice).front()}, options, build);
  }
  if (asks_for_placement(options)) {
    return place_program(built, open_model_devices(options, choice), options, build);
  }
  const std::vector<OpenDevice> devices =
      devices_beside(choose_device(built.program.view(), choice), built, options, choice);
  if (devices.size() > 1) return place_program(built, devices, options, build);
  return on_one_device(built, devices[0], options, build);
}

}  // namespace tenon
