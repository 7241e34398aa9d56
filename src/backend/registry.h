// The available backends: built in, named by the host, or beside the library. plugin.h loads a
// plugin file.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/plugin.h"

namespace tenon {

/// Requests the automatic choice of a backend; no backend may use this name.
inline constexpr std::string_view kAutomaticBackend = "auto";

/// An entry in the list of backends.
struct BackendEntry {
  std::string name;    ///< empty for a refused plugin
  std::string origin;  ///< "built in", or the plugin's path
  PluginReason reason = PluginReason::None;
  std::string text;  ///< why it was refused; empty if usable
  Backend backend;
};

class BackendRegistry {
 public:
  /// Lists the built-in backends, fastest first, then plugins. `plugin_paths` come first: absolute
  /// paths of files, or of folders of libtenon-*.so with a final slash. Next comes the folder
  /// `tenon` beside the library, if any (plugin_folder.h). Searches neither the working directory
  /// nor the environment. Refused plugins, such as duplicates of a name, stay listed with their
  /// reason.
  explicit BackendRegistry(std::span<const std::string> plugin_paths = {},
                           const std::shared_ptr<System>& system = System::real());

  [[nodiscard]] std::span<const BackendEntry> entries() const { return entries_; }
  /// The first usable backend of this name. Throws Argument that names the known ones.
  [[nodiscard]] const Backend& find(std::string_view name) const;

 private:
  void add_plugin(const std::string& path, const std::shared_ptr<System>& system);

  std::vector<BackendEntry> entries_;
};

}  // namespace tenon
