#include "backend/registry.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/error.h"

// The built-in backends; they are linked in, but only their entry is known.
extern "C" const tenon_backend_api* tenon_cpu_backend_entry(uint32_t major, uint32_t minor);
extern "C" const tenon_backend_api* tenon_reference_backend_entry(uint32_t major, uint32_t minor);

namespace tenon {
namespace {

/// Fastest first.
constexpr tenon_backend_entry_fn kBuiltIn[] = {
    tenon_cpu_backend_entry,
    tenon_reference_backend_entry,
};

/// libtenon-*.so in `tenon/` beside the file this code was loaded from, sorted by name.
std::vector<std::string> plugins_beside_us() {
  std::vector<std::string> paths;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&plugins_beside_us), &info) == 0 ||
      info.dli_fname == nullptr || info.dli_fname[0] != '/') {
    return paths;
  }
  const auto folder = std::filesystem::path(info.dli_fname).parent_path() / "tenon";
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("libtenon-") && name.ends_with(".so"))
      paths.push_back(it->path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

BackendRegistry::BackendRegistry(std::span<const std::string> plugin_paths) {
  for (const tenon_backend_entry_fn entry : kBuiltIn) {
    const tenon_backend_api* api = entry(TENON_BACKEND_MAJOR, TENON_BACKEND_MINOR);
    if (check_table(api) != PluginReason::None) continue;
    entries_.push_back({api->name, "built in", PluginReason::None, "", {api, nullptr}});
  }
  for (const std::string& path : plugin_paths) add_plugin(path);
  for (const std::string& path : plugins_beside_us()) add_plugin(path);
}

void BackendRegistry::add_plugin(const std::string& path) {
  const auto same = [&](const BackendEntry& entry) { return entry.origin == path; };
  if (std::any_of(entries_.begin(), entries_.end(), same)) return;
  Plugin plugin = load_plugin(path);
  const char* name = plugin.backend.api == nullptr ? "" : plugin.backend.api->name;
  entries_.push_back({name, path, plugin.reason, plugin.text, std::move(plugin.backend)});
}

const Backend& BackendRegistry::find(std::string_view name) const {
  std::string known;
  for (const BackendEntry& entry : entries_) {
    if (entry.reason != PluginReason::None) continue;
    if (entry.name == name) return entry.backend;
    known += (known.empty() ? "" : ", ") + entry.name;
  }
  fail(Code::Argument, "backend: \"{}\" is not available; there are: {}", name, known);
}

}  // namespace tenon
