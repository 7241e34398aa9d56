#include "hub/other_caches.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/utf8.h"
#include "hub/cache.h"
#include "hub/choose.h"
#include "json/json_tree.h"

namespace tenon::hub {
namespace {

constexpr size_t kMaxManifestBytes = size_t{1} << 20;
constexpr std::string_view kOllamaModel = "application/vnd.ollama.image.model";
constexpr std::string_view kOllamaProjector = "application/vnd.ollama.image.projector";

/// Path of the blob of a layer; empty unless it is a whole file.
std::string ollama_blob(const Settings& settings, const JsonNode& layer) {
  std::string digest(layer.text_of("digest"));
  if (!digest.starts_with("sha256:") || !is_hex(digest.substr(7), 64)) return {};
  digest[6] = '-';
  const std::string path = settings.ollama_folder + "/blobs/" + digest;
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  const JsonNode* wanted = layer.find("size");
  const bool is_whole = !error && std::filesystem::is_regular_file(path, error) &&
                        wanted != nullptr && wanted->is_count && wanted->count == size;
  return is_whole ? path : std::string();
}

/// "HOST/NAMESPACE/NAME/TAG" as Ollama writes it: the usual host and namespace are left out.
std::string ollama_name(const std::string& path) {
  const size_t tag = path.rfind('/');
  std::string name = path.substr(0, tag);
  for (const std::string_view usual : {"registry.ollama.ai/", "library/"}) {
    if (name.starts_with(usual)) name.erase(0, usual.size());
  }
  return name + ":" + path.substr(tag + 1);
}

void add_ollama(const Settings& settings, std::vector<Model>& into) {
  const std::string folder = settings.ollama_folder + "/manifests";
  for (const NamedFile& file : files_below(folder, "")) {
    if (std::ranges::count(file.path, '/') != 3 || why_bad_path(file.path) != nullptr) continue;
    try {
      const JsonNode manifest = parse_json_tree(
          read_small_file(*settings.system, folder + "/" + file.path, kMaxManifestBytes),
          file.path);
      const JsonNode* layers = manifest.find("layers");
      if (layers == nullptr) continue;
      Model model;
      for (const JsonNode& layer : layers->items) {
        const std::string_view type = layer.text_of("mediaType");
        if (type == kOllamaModel && model.path.empty()) model.path = ollama_blob(settings, layer);
        if (type == kOllamaProjector) model.projector = ollama_blob(settings, layer);
      }
      if (model.path.empty()) continue;
      std::error_code error;
      model.size_bytes = std::filesystem::file_size(model.path, error);
      model.num_files = model.projector.empty() ? 1 : 2;
      model.reference = "ollama:" + ollama_name(file.path);
      model.source = "ollama";
      into.push_back(std::move(model));
    } catch (const Error&) {
      continue;  // a damaged manifest is Ollama's to mend
    }
  }
}

/// Adds the models of one folder, whose files are named below `reference`.
void add_folder(const std::string& folder, const std::string& reference, const char* source,
                std::vector<Model>& into) {
  const std::vector<NamedFile> files = files_below(folder, "");
  const std::vector<GgufModel> models = gguf_models(files);
  for (const GgufModel& gguf : models) {
    Model model;
    model.reference = reference + (models.size() == 1 ? "" : ":" + gguf.path);
    model.path = folder + "/" + gguf.path;
    model.source = source;
    model.size_bytes = gguf.size_bytes;
    model.num_files = gguf.files.size();
    model.is_whole = gguf.num_missing == 0;
    if (const size_t place = projector_of(files, gguf); place < files.size()) {
      model.projector = folder + "/" + files[place].path;
    }
    into.push_back(std::move(model));
  }
  if (!models.empty()) return;
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(files, [&](const auto& file) { return file.path == name; });
  };
  if (!has("config.json")) return;
  Model model;
  for (const NamedFile& file : files) {
    model.size_bytes += file.size_bytes;
    model.num_files += file.path.ends_with(".safetensors") ? 1 : 0;
  }
  if (model.num_files == 0) return;
  model.reference = reference;
  model.path = folder;
  model.source = source;
  into.push_back(std::move(model));
}

std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code unreadable;
    if (it->is_directory(unreadable)) names.push_back(it->path().filename().string());
    if (names.size() == 10'000) break;
  }
  std::ranges::sort(names);
  return names;
}

void add_lmstudio(const Settings& settings, std::vector<Model>& into) {
  for (const std::string& publisher : folders_in(settings.lmstudio_folder)) {
    for (const std::string& name : folders_in(settings.lmstudio_folder + "/" + publisher)) {
      const std::string id = publisher + "/" + name;
      if (why_bad_path(id) != nullptr) continue;
      add_folder(settings.lmstudio_folder + "/" + id, "lmstudio:" + id, "lmstudio", into);
    }
  }
}

void add_llamacpp(const Settings& settings, std::vector<Model>& into) {
  const std::vector<NamedFile> files = files_below(settings.llamacpp_folder, "");
  for (const GgufModel& gguf : gguf_models(files)) {
    if (why_bad_path(gguf.path) != nullptr || gguf.num_missing != 0) continue;
    Model model;
    model.reference = "llama.cpp:" + gguf.path;
    model.path = settings.llamacpp_folder + "/" + gguf.path;
    model.source = "llama.cpp";
    model.size_bytes = gguf.size_bytes;
    model.num_files = gguf.files.size();
    into.push_back(std::move(model));
  }
}

}  // namespace

std::vector<Model> other_models(const Settings& settings) {
  std::vector<Model> models;
  if (!settings.ollama_folder.empty()) add_ollama(settings, models);
  if (!settings.lmstudio_folder.empty()) add_lmstudio(settings, models);
  if (!settings.llamacpp_folder.empty()) add_llamacpp(settings, models);
  return models;
}

Model find_other(const Settings& settings, const Reference& reference) {
  const std::vector<Model> models = other_models(settings);
  const bool is_ollama = reference.kind == Reference::Kind::Ollama;
  const std::string head = reference.text.substr(0, reference.text.find(':') + 1) + reference.id;
  std::string wanted = reference.choice.empty() ? head : head + ":" + reference.choice;
  if (is_ollama && reference.choice.empty()) wanted += ":latest";
  NearestName nearest(wanted);
  std::vector<const Model*> tagged;
  for (const Model& model : models) {
    if (model.reference == wanted) {
      if (!model.is_whole) fail(Code::Format, "{}: parts of it are missing", reference.text);
      return model;
    }
    const std::string prefix = head + ":";
    if (!is_ollama && model.is_whole && model.reference.starts_with(prefix) &&
        (reference.choice.empty() ||
         has_tag(model.reference.substr(prefix.size()), reference.choice))) {
      tagged.push_back(&model);
    }
    if (!is_ollama && model.is_whole && model.reference == head &&
        has_tag(model.path, reference.choice)) {
      tagged.push_back(&model);
    }
    nearest.consider(model.reference);
  }
  if (!tagged.empty()) return *tagged.front();
  fail(Code::Argument, "{}: there is no such model{}; `tenon list` shows what there is",
       tenon::quoted(reference.text), nearest.hint());
}

}  // namespace tenon::hub
