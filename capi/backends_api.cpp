// tenon_backends_*: backends and devices that can run models on this machine.
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "backend/registry.h"
#include "base/system.h"
#include "base/thread_team.h"
#include "fence.h"
#include "option_set.h"
#include "values.h"

struct tenon_backends : tenon::capi::Handle<tenon_backends> {
  static constexpr auto kMagic = tenon::capi::Magic::Backends;
  static constexpr const char* kName = "backend list";

  struct Line {
    std::string name;
    std::string origin;
    std::string description;
    tenon::Code code = tenon::Code::Ok;
    tenon::PluginReason reason = tenon::PluginReason::None;
    std::string options;
    std::vector<tenon_device_info> devices{};
  };
  std::vector<Line> lines;
};

using namespace tenon::capi;

namespace {

using tenon::PluginReason;

// The interface repeats the engine's values.
static_assert(TENON_REFUSED_NOT == static_cast<int32_t>(PluginReason::None));
static_assert(TENON_REFUSED_WRITABLE == static_cast<int32_t>(PluginReason::Writable));
static_assert(TENON_REFUSED_WRONG_MAGIC == static_cast<int32_t>(PluginReason::WrongMagic));
static_assert(TENON_REFUSED_NAME_TAKEN == static_cast<int32_t>(PluginReason::NameTaken));
static_assert(TENON_REFUSED_MISSING_FUNCTION ==
              static_cast<int32_t>(PluginReason::MissingFunction));

/// Devices of a backend. A team of one starts no thread.
std::vector<tenon_device_info> devices_of(const tenon::Backend& backend) {
  const std::shared_ptr<tenon::System> system = tenon::System::real();
  tenon::HostServices services(system, tenon::Log{},
                               std::make_unique<tenon::ThreadTeam>(1, system));
  return tenon::list_devices(backend, services);
}

/// Descriptions of the devices, or the reason why they cannot be used.
std::string describe_devices(std::span<const tenon_device_info> devices) {
  std::string all;
  for (const tenon_device_info& info : devices) {
    if (!all.empty()) all += "; ";
    all += info.description;
    if (info.unavailable[0] != '\0')
      all += std::string(" (cannot be used: ") + info.unavailable + ")";
  }
  return all;
}

std::string options_text(const tenon::Backend& backend) {
  std::string text;
  for (const tenon::DeviceOption& option : tenon::list_options(backend)) {
    text += option.key + '\t' + option.values + '\t' + option.standard + '\t' + option.doc + '\n';
  }
  return text;
}

tenon_backends::Line line_of(const tenon::BackendEntry& entry) {
  tenon_backends::Line line{entry.name, entry.origin, entry.text, {}, entry.reason, {}, {}};
  if (entry.reason != PluginReason::None) {
    line.code = tenon::Code::Plugin;
    return line;
  }
  try {
    line.options = options_text(entry.backend);
    line.devices = devices_of(entry.backend);
    line.description = describe_devices(line.devices);
  } catch (const tenon::Error& error) {
    line.code = error.code();
    line.description = error.what();
  }
  return line;
}

const tenon_backends::Line& line_at(const tenon_backends& backends, size_t index) {
  if (index < backends.lines.size()) return backends.lines[index];
  tenon::fail(tenon::Code::Argument, "backend {} does not exist; there are {}", index,
              backends.lines.size());
}

}  // namespace

tenon_status tenon_backends_create(const tenon_options* options, tenon_backends** backends) {
  return fence([&] {
    tenon_backends*& out = checked_out(backends, "backends");
    const std::vector<std::string> paths = options_or_default(options).strings("plugin");
    auto list = std::make_unique<tenon_backends>();
    const tenon::BackendRegistry registry(paths);
    for (const tenon::BackendEntry& entry : registry.entries()) {
      list->lines.push_back(line_of(entry));
    }
    out = list.release();
  });
}

void tenon_backends_destroy(tenon_backends* backends) { destroy(backends); }

size_t tenon_backends_count(const tenon_backends* backends) {
  const HandlesInUse call;
  const tenon_backends* live = live_or_null(backends);
  return live == nullptr ? 0 : live->lines.size();
}

size_t tenon_backends_count_devices(const tenon_backends* backends, size_t index) {
  const HandlesInUse call;
  const tenon_backends* live = live_or_null(backends);
  return live == nullptr || index >= live->lines.size() ? 0 : live->lines[index].devices.size();
}

tenon_status tenon_backends_get_device(const tenon_backends* backends, size_t index, size_t device,
                                       tenon_backend_device* info) {
  return fence([&] {
    const tenon_backends::Line& line = line_at(checked(backends), index);
    if (device >= line.devices.size()) {
      tenon::fail(tenon::Code::Argument, "device {} of backend \"{}\" does not exist; there are {}",
                  device, line.name, line.devices.size());
    }
    const tenon_device_info& found = line.devices[device];
    tenon_backend_device out{};
    out.kind = static_cast<int32_t>(found.kind);
    out.name = found.name;
    out.name_length = std::strlen(found.name);
    out.description = found.description;
    out.description_length = std::strlen(found.description);
    out.unavailable = found.unavailable;
    out.unavailable_length = std::strlen(found.unavailable);
    out.memory_total = found.memory_total;
    out.memory_available = found.memory_available;
    struct_out(out, info, "tenon_backend_device");
  });
}

tenon_status tenon_backends_get_info(const tenon_backends* backends, size_t index,
                                     tenon_backend_info* backend) {
  return fence([&] {
    const tenon_backends::Line& line = line_at(checked(backends), index);
    tenon_backend_info out{};
    out.status = static_cast<tenon_status>(line.code);
    out.name = line.name.data();
    out.name_length = line.name.size();
    out.origin = line.origin.data();
    out.origin_length = line.origin.size();
    out.description = line.description.data();
    out.description_length = line.description.size();
    out.reason = static_cast<int32_t>(line.reason);
    out.options = line.options.data();
    out.options_length = line.options.size();
    struct_out(out, backend, "tenon_backend_info");
  });
}
