#include "model/open_model.h"

#include <string_view>
#include <utility>
#include <vector>

#include "arch/folder/folder_model.h"
#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

constexpr std::string_view kConfigFile = "config.json";

/// Whether `name` is that of a config.json; `folder` is what comes before.
bool is_config(std::string_view name, std::string_view& folder) {
  if (!name.ends_with(kConfigFile)) return false;
  folder = name.substr(0, name.size() - kConfigFile.size());
  return folder.empty() || folder.ends_with('/');
}

struct Listing {
  bool has_config = false;
};

bool holds_config(const std::string& path, System& system) {
  Listing listing;
  const int error = system.list_directory(
      path.c_str(),
      [](void* user, const char* entry) {
        if (kConfigFile == entry) static_cast<Listing*>(user)->has_config = true;
      },
      &listing);
  return error == 0 && listing.has_config;
}

}  // namespace

std::string folder_of(const std::string& path, System& system) {
  const std::string_view file = std::string_view(path).substr(path.rfind('/') + 1);
  // Weights of adapters, and weights in another layout.
  const bool is_other = file.starts_with("adapter_") || file.starts_with("consolidated");
  const bool is_inside = file == kConfigFile || (file.ends_with(".safetensors") && !is_other) ||
                         file.ends_with(".safetensors.index.json");
  std::string folder = path;
  if (is_inside) folder = path.substr(0, path.size() - file.size());
  if (folder.empty()) folder = ".";
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  return holds_config(folder, system) ? folder : std::string();
}

std::shared_ptr<const ModelFile> open_model(const std::string& path, OpenOptions options) {
  const std::string folder = folder_of(path, *options.system);
  if (folder.empty()) return open_model_file(path, std::move(options));
  return open_model_folder(FileFolder::from_path(folder, options.system), options.system,
                           std::move(options.overrides));
}

std::shared_ptr<const ModelFile> open_model(
    std::span<const std::shared_ptr<const ByteSource>> sources, OpenOptions options) {
  std::string_view prefix;
  bool is_folder = false;
  for (const auto& source : sources) {
    std::string_view before;
    if (source == nullptr || !is_config(source->name(), before)) continue;
    // The topmost: parts of a folder have one of their own ("1_Pooling/config.json").
    if (!is_folder || before.size() < prefix.size()) prefix = before;
    is_folder = true;
  }
  if (!is_folder) return open_model_file(sources, std::move(options));
  std::vector<FolderFile> files;
  for (const auto& source : sources) {
    if (source == nullptr) fail(Code::Argument, "a source of a model folder is null");
    if (!source->name().starts_with(prefix)) {
      fail(Code::Argument, "{}: does not lie in the folder {} of the config.json",
           quoted(source->name()), quoted(prefix));
    }
    files.push_back({source->name().substr(prefix.size()), source});
  }
  std::string_view name = prefix;
  while (name.ends_with('/')) name.remove_suffix(1);
  return open_model_folder(
      FileFolder::from_files(std::move(files), std::string(name.empty() ? "model" : name)),
      options.system, std::move(options.overrides));
}

}  // namespace tenon
