#include "tests/conformance/target.h"

#include <map>
#include <utility>

#include "backend/registry.h"

namespace tenon::conformance {
namespace {

Target& mutable_target() {
  static Target chosen;
  return chosen;
}

using Devices = std::map<std::pair<const Target*, uint32_t>, std::shared_ptr<Device>>;

/// Devices by target and number of threads.
Devices& shared_devices() {
  static Devices devices;
  return devices;
}

}  // namespace

const Target& target() { return mutable_target(); }

void set_target(Target chosen) { mutable_target() = std::move(chosen); }

const tenon_device_info& target_info() {
  static const tenon_device_info info = make_device(target())->info();
  return info;
}

const Target& reference() {
  static const Target built_in{BackendRegistry().find("reference"), {}};
  return built_in;
}

std::shared_ptr<Device> make_device(const Target& target, const Host& host) {
  const std::shared_ptr<System> system = host.system != nullptr ? host.system : System::real();
  auto team = host.executor != nullptr ? std::make_unique<ThreadTeam>(*host.executor)
                                       : std::make_unique<ThreadTeam>(host.threads, system);
  auto services = std::make_unique<HostServices>(system, Log{}, std::move(team));
  return Device::create(target.backend, std::move(services), target.options);
}

std::shared_ptr<Device> shared_device(const Target& target, const Host& host) {
  if (host.executor != nullptr || host.system != nullptr) return make_device(target, host);
  std::shared_ptr<Device>& device = shared_devices()[{&target, host.threads}];
  if (device == nullptr) device = make_device(target, host);
  return device;
}

void release_shared_devices() { shared_devices().clear(); }

}  // namespace tenon::conformance
