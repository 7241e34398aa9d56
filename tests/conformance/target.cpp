#include "tests/conformance/target.h"

#include <utility>

#include "backend/registry.h"

namespace tenon::conformance {
namespace {

Target& mutable_target() {
  static Target chosen;
  return chosen;
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
  auto team = host.executor != nullptr ? std::make_unique<ThreadTeam>(*host.executor)
                                       : std::make_unique<ThreadTeam>(host.threads, host.system);
  auto services = std::make_unique<HostServices>(host.system, Log{}, std::move(team));
  return Device::create(target.backend, std::move(services), target.options);
}

}  // namespace tenon::conformance
