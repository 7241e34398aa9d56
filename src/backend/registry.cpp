#include "backend/registry.h"

#include <algorithm>
#include <utility>

#include "backend/plugin_folder.h"
#include "base/error.h"
#include "base/loaded_code.h"
#include "base/path.h"

// Entries of the linked-in backends.
extern "C" const tenon_backend_api* tenon_cpu_backend_entry(uint32_t major, uint32_t minor);
extern "C" const tenon_backend_api* tenon_reference_backend_entry(uint32_t major, uint32_t minor);

namespace tenon {
namespace {

/// Ordered by speed, fastest first.
constexpr tenon_backend_entry_fn kBuiltIn[] = {
    tenon_cpu_backend_entry,
    tenon_reference_backend_entry,
};

/// libtenon-*.so (Windows: tenon-*.dll) in a folder, sorted by name; empty if the folder cannot be read.
std::vector<std::string> plugins_in(System& system, const std::string& folder) {
  if (folder.empty()) return {};
  std::vector<std::string> names;
  system.list_directory(
      folder.c_str(),
      [](void* user, const char* entry) {
        const std::string_view name = entry;
        if (!name.starts_with(kLibraryPrefix) || !name.ends_with(kLibraryEnding)) return;
        if (!name.substr(kLibraryPrefix.size()).starts_with("tenon-")) return;
        static_cast<std::vector<std::string>*>(user)->emplace_back(name);
      },
      &names);
  std::sort(names.begin(), names.end());
  for (std::string& name : names) name.insert(0, folder);
  return names;
}

}  // namespace

BackendRegistry::BackendRegistry(std::span<const std::string> plugin_paths,
                                 const std::shared_ptr<System>& system) {
  for (const tenon_backend_entry_fn entry : kBuiltIn) {
    const tenon_backend_api* api = entry(TENON_BACKEND_MAJOR, TENON_BACKEND_MINOR);
    if (check_table(api) != PluginReason::None) continue;
    entries_.push_back({api->name, "built in", PluginReason::None, "", {api, nullptr}});
  }
  const auto add_folder = [&](const std::string& folder) {
    for (const std::string& path : plugins_in(*system, folder)) add_plugin(path, system);
  };
  for (const std::string& path : plugin_paths) {
    ends_with_separator(path) ? add_folder(path) : add_plugin(path, system);
  }
  add_folder(plugin_folder(own_code()));
}

void BackendRegistry::add_plugin(const std::string& path, const std::shared_ptr<System>& system) {
  const auto same = [&](const BackendEntry& entry) { return entry.origin == path; };
  if (std::any_of(entries_.begin(), entries_.end(), same)) return;
  Plugin plugin = load_plugin(path, system);
  const std::string name = plugin.backend.api == nullptr ? "" : plugin.backend.api->name;
  const auto same_name = [&](const BackendEntry& entry) { return entry.name == name; };
  const bool taken = name == kAutomaticBackend || std::ranges::any_of(entries_, same_name);
  if (plugin.reason == PluginReason::None && taken) {
    const PluginReason reason = PluginReason::NameTaken;
    entries_.push_back({"", path, reason, fmt::format("{}: {}", reason_text(reason), name), {}});
    return;
  }
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
