// tenon_backends_*: what can run models here.
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
  };
  std::vector<Line> lines;
};

using namespace tenon::capi;

namespace {

using tenon::PluginReason;

// The values of the interface are the engine's.
static_assert(TENON_REFUSED_NOT == static_cast<int32_t>(PluginReason::None));
static_assert(TENON_REFUSED_WRITABLE == static_cast<int32_t>(PluginReason::Writable));
static_assert(TENON_REFUSED_WRONG_MAGIC == static_cast<int32_t>(PluginReason::WrongMagic));
static_assert(TENON_REFUSED_NAME_TAKEN == static_cast<int32_t>(PluginReason::NameTaken));
static_assert(TENON_REFUSED_MISSING_FUNCTION ==
              static_cast<int32_t>(PluginReason::MissingFunction));

/// What the devices of a backend say about themselves, or why they cannot be used. A team of one
/// starts no thread.
std::string describe_devices(const tenon::Backend& backend) {
  const std::shared_ptr<tenon::System> system = tenon::System::real();
  tenon::HostServices services(system, tenon::Log{},
                               std::make_unique<tenon::ThreadTeam>(1, system));
  std::string all;
  for (const tenon_device_info& info : tenon::list_devices(backend, services)) {
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
  tenon_backends::Line line{entry.name, entry.origin, entry.text, {}, entry.reason, {}};
  if (entry.reason != PluginReason::None) {
    line.code = tenon::Code::Plugin;
    return line;
  }
  try {
    line.options = options_text(entry.backend);
    line.description = describe_devices(entry.backend);
  } catch (const tenon::Error& error) {
    line.code = error.code();
    line.description = error.what();
  }
  return line;
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

tenon_status tenon_backends_get_info(const tenon_backends* backends, size_t index,
                                     tenon_backend_info* backend) {
  return fence([&] {
    const std::vector<tenon_backends::Line>& lines = checked(backends).lines;
    if (index >= lines.size()) {
      tenon::fail(tenon::Code::Argument, "backend {} does not exist; there are {}", index,
                  lines.size());
    }
    const tenon_backends::Line& line = lines[index];
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
