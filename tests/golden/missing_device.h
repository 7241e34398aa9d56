// Tests for the device of a plugin's backend. For tests only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/host_services.h"
#include "backend/registry.h"
#include "base/error.h"
#include "base/thread_team.h"

namespace tenon::golden {

/// Reason that none of the backend's devices is usable; empty if a device is, whichever programs it
/// runs. Tests skip for this reason only and fail if a device refuses a model.
inline std::string missing_device(const char* backend, const std::string& plugin) {
  const BackendRegistry registry(std::vector<std::string>{plugin});
  HostServices services(System::real(), Log{}, std::make_unique<ThreadTeam>(1, System::real()));
  std::string reason = "there is no device";
  try {
    for (const tenon_device_info& info : list_devices(registry.find(backend), services)) {
      if (info.unavailable[0] == 0) return "";
      reason = info.unavailable;
    }
  } catch (const Error& error) {
    if (error.code() != Code::Unsupported) throw;
    reason = error.what();  // no driver
  }
  return reason;
}

}  // namespace tenon::golden
