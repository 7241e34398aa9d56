#include "backend/choose_device.h"

#include <algorithm>
#include <string>
#include <utility>

#include "backend/registry.h"
#include "base/error.h"
#include "base/nearest_name.h"

namespace tenon {
namespace {

/// Throws Argument for an option that the backend does not list.
void check_options(const Backend& backend, const Device::Options& options) {
  if (options.empty()) return;
  const std::vector<DeviceOption> known = list_options(backend);
  for (const auto& [key, value] : options) {
    NearestName nearest(key);
    for (const DeviceOption& option : known) nearest.consider(option.key);
    if (nearest.nearest() == key) continue;
    if (known.empty()) {
      fail(Code::Argument, "option \"backend.{}\": backend \"{}\" has no options", nearest.name(),
           backend.api->name);
    }
    const std::string hint =
        nearest.nearest().empty()
            ? std::string()
            : fmt::format("; the nearest is \"backend.{}\"", nearest.nearest());
    fail(Code::Argument, "option \"backend.{}\": backend \"{}\" has none of this name{}",
         nearest.name(), backend.api->name, hint);
  }
}

/// First device of a backend that runs the program. Throws Unsupported with each device's reason.
std::shared_ptr<Device> device_of(const Backend& backend, const tenon_program& program,
                                  const DeviceChoice& choice) {
  const bool by_name = choice.backend != kAutomaticBackend;
  std::unique_ptr<HostServices> services = choice.make_services();
  const std::vector<tenon_device_info> infos = list_devices(backend, *services);
  std::string reasons;
  for (uint32_t index = 0; index < infos.size(); ++index) {
    const tenon_device_info& info = infos[index];
    std::string reason =
        info.unavailable[0] == 0 ? "" : fmt::format("cannot be used: {}", info.unavailable);
    if (reason.empty() && !by_name && info.kind == TENON_DEVICE_REFERENCE) {
      reason = "is for comparison: only its name chooses it";
    }
    if (reason.empty()) {
      if (services == nullptr) services = choice.make_services();
      auto device = Device::create(backend, std::move(services), choice.options, index);
      const uint32_t op = device->first_unsupported(program);
      if (op == program.num_ops) return device;
      reason = fmt::format("cannot run {} of the model", choice.op_label(op));
    }
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", reason);
  }
  fail(Code::Unsupported, "backend \"{}\" {}", backend.api->name, reasons);
}

std::shared_ptr<Device> first_device(const BackendRegistry& registry, const tenon_program& program,
                                     const DeviceChoice& choice) {
  std::string reasons;
  std::exception_ptr bad_option;  // from the first backend that refused one
  for (const BackendEntry& entry : registry.entries()) {
    if (entry.reason != PluginReason::None) continue;
    try {
      check_options(entry.backend, choice.options);
      return device_of(entry.backend, program, choice);
    } catch (const Error& error) {
      if (error.code() == Code::Argument && !bad_option) bad_option = std::current_exception();
      reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", error.what());
      choice.log(LogLevel::Info, "backend \"{}\" is not used: {}", entry.name, error.what());
    }
  }
  if (bad_option) std::rethrow_exception(bad_option);
  fail(Code::Unsupported, "no device can run the model: {}", reasons);
}

bool is_accelerator(const tenon_device_info& info) {
  return info.kind == TENON_DEVICE_GPU || info.kind == TENON_DEVICE_ACCELERATOR;
}

/// Index of a usable device.
uint32_t find_device(const DeviceName& name, std::span<const tenon_device_info> infos) {
  std::string known;
  for (uint32_t index = 0; index < infos.size(); ++index) {
    const tenon_device_info& info = infos[index];
    const bool any = name.device.empty();
    if (any && info.unavailable[0] != 0) continue;
    if (any || name.device == info.name || name.device == std::to_string(index)) {
      if (info.unavailable[0] == 0) return index;
      fail(Code::Unsupported, "devices: \"{}:{}\" cannot be used: {}", name.backend, name.device,
           info.unavailable);
    }
    known += fmt::format("{}{} (\"{}\")", known.empty() ? "" : ", ", index, info.name);
  }
  if (name.device.empty()) {
    fail(Code::Unsupported, "devices: backend \"{}\" has none that can be used: {}", name.backend,
         infos.empty() ? "it lists none" : infos[0].unavailable);
  }
  fail(Code::Argument, "devices: backend \"{}\" has no device \"{}\", but {}", name.backend,
       name.device.substr(0, 64), known);
}

const Backend& backend_of(const BackendRegistry& registry, const DeviceName& name) {
  try {
    return registry.find(name.backend);
  } catch (const Error& error) {
    fail(error.code(), "devices: {}", error.what());
  }
}

/// Options that a backend lists. Marks them in `known`.
Device::Options options_of(const Backend& backend, const Device::Options& options,
                           std::vector<bool>& known) {
  const std::vector<DeviceOption> listed = list_options(backend);
  Device::Options own;
  for (size_t i = 0; i < options.size(); ++i) {
    const bool is_listed = std::ranges::any_of(
        listed, [&](const DeviceOption& option) { return option.key == options[i].first; });
    if (!is_listed) continue;
    known[i] = true;
    own.push_back(options[i]);
  }
  return own;
}

}  // namespace

std::vector<DeviceName> find_accelerators(const DeviceChoice& choice) {
  const BackendRegistry registry(choice.plugin_paths, choice.system);
  if (choice.backend != kAutomaticBackend) (void)registry.find(choice.backend);
  std::vector<DeviceName> names;
  for (const BackendEntry& entry : registry.entries()) {
    if (entry.reason != PluginReason::None || !names.empty()) continue;
    if (choice.backend != kAutomaticBackend && choice.backend != entry.name) continue;
    try {
      const std::unique_ptr<HostServices> services = choice.make_services();
      const std::vector<tenon_device_info> infos = list_devices(entry.backend, *services);
      for (uint32_t index = 0; index < infos.size(); ++index) {
        if (!is_accelerator(infos[index]) || infos[index].unavailable[0] != 0) continue;
        names.push_back({entry.name, std::to_string(index)});
      }
    } catch (const Error& error) {
      choice.log(LogLevel::Info, "backend \"{}\" is not used: {}", entry.name, error.what());
    }
  }
  return names;
}

std::vector<std::shared_ptr<Device>> open_devices(std::span<const DeviceName> names,
                                                  const DeviceChoice& choice) {
  const BackendRegistry registry(choice.plugin_paths, choice.system);
  std::vector<bool> known(choice.options.size(), false);
  std::vector<std::shared_ptr<Device>> devices;
  for (const DeviceName& name : names) {
    const Backend& backend = backend_of(registry, name);
    const Device::Options own = options_of(backend, choice.options, known);
    std::unique_ptr<HostServices> services = choice.make_services();
    const uint32_t index = find_device(name, list_devices(backend, *services));
    devices.push_back(Device::create(backend, std::move(services), own, index));
    choice.log(LogLevel::Info, "backend \"{}\": {}", devices.back()->name(),
               devices.back()->description());
  }
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i]) continue;
    fail(Code::Argument, "option \"backend.{}\": none of the devices has it",
         choice.options[i].first.substr(0, 64));
  }
  return devices;
}

std::shared_ptr<Device> choose_device(const tenon_program& program, const DeviceChoice& choice) {
  const BackendRegistry registry(choice.plugin_paths, choice.system);
  for (const BackendEntry& entry : registry.entries()) {
    if (entry.reason == PluginReason::None) continue;
    const bool taken = entry.reason == PluginReason::NameTaken;
    choice.log(taken ? LogLevel::Info : LogLevel::Warning, "plugin {} is not used: {}",
               entry.origin, entry.text);
  }
  std::shared_ptr<Device> device;
  if (choice.backend == kAutomaticBackend) {
    device = first_device(registry, program, choice);
  } else {
    const Backend& backend = registry.find(choice.backend);
    check_options(backend, choice.options);
    device = device_of(backend, program, choice);
  }
  choice.log(LogLevel::Info, "backend \"{}\": {}", device->name(), device->description());
  return device;
}

}  // namespace tenon
