#include "hub_handle.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "failure.h"
#include "interruption.h"
#include "terminal.h"

namespace tenon_program {
namespace {

/// The first of these variables that is set and not empty; "" if none is.
std::string variable(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

bool is_yes(const std::string& value) {
  std::string upper = value;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper == "1" || upper == "ON" || upper == "YES" || upper == "TRUE";
}

std::string cache_home() {
  const std::string named = variable({"XDG_CACHE_HOME"});
  return !named.empty() ? named : variable({"HOME"}) + "/.cache";
}

std::string hub_home() {
  const std::string named = variable({"HF_HOME"});
  return !named.empty() ? named : cache_home() + "/huggingface";
}

std::string first_folder(std::initializer_list<std::string> folders) {
  for (const std::string& folder : folders) {
    std::error_code error;
    if (!folder.empty() && std::filesystem::is_directory(folder, error)) return folder;
  }
  return "";
}

std::string hub_token() {
  const std::string named = variable({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"});
  if (!named.empty()) return named;
  if (is_yes(variable({"HF_HUB_DISABLE_IMPLICIT_TOKEN"}))) return "";
  const std::string path = variable({"HF_TOKEN_PATH"});
  std::ifstream file(path.empty() ? hub_home() + "/token" : path);
  std::string text;
  file >> text;  // up to the first blank
  return text;
}

/// The proxy for an address: that of its scheme.
std::string proxy_for(const std::string& address) {
  return address.starts_with("http://")
             ? variable({"http_proxy", "all_proxy", "ALL_PROXY"})
             : variable({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"});
}

const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

HubModel copy_of(const tenon_hub_model_info& info) {
  return {info.reference, info.path,       info.projector, info.source,       info.commit,
          info.note,      info.size_bytes, info.num_files, info.is_whole != 0};
}

[[noreturn]] void fail_hub() { throw Failure(tenon_hub_last_error()); }

void check_hub(tenon_status status) {
  if (status != TENON_OK) fail_hub();
}

HubModel taken(tenon_hub_model* raw) {
  const std::unique_ptr<tenon_hub_model, void (*)(tenon_hub_model*)> model(
      raw, &tenon_hub_model_destroy);
  tenon_hub_model_info info{};
  info.struct_size = sizeof info;
  check_hub(tenon_hub_model_get_info(model.get(), &info));
  return copy_of(info);
}

/// Shows progress, and notes a signal.
struct PullDisplay {
  ProgressBar bar{"fetching"};
  bool is_interrupted = false;
  bool has_told = false;

  static int32_t show(void* user, const tenon_hub_progress* told) {
    auto& self = *static_cast<PullDisplay*>(user);
    try {
      Interruption::check();
    } catch (const Interrupted&) {
      self.is_interrupted = true;
      return 1;
    }
    if (told->phase == TENON_HUB_WAITING && !self.has_told) {
      self.has_told = true;
      say(Style::Note, "note: another process fetches this file; waiting for it");
    }
    if (told->bytes_total != 0) {
      self.bar.update(static_cast<double>(told->bytes_done) /
                      static_cast<double>(told->bytes_total));
    }
    return 0;
  }
};

}  // namespace

HubAccess::HubAccess(const std::string& reference, const HubFlags& flags)
    : offline_(flags.offline || is_yes(variable({"HF_HUB_OFFLINE"})) ||
               is_yes(variable({"TRANSFORMERS_OFFLINE"}))),
      hub_(nullptr, &tenon_hub_destroy) {
  const std::string home = variable({"HOME"});
  const std::string named_cache = variable({"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"});
  const std::string cache = named_cache.empty() ? hub_home() + "/hub" : named_cache;
  const std::string urls = cache_home() + "/tenon/urls";
  const std::string named_ollama = variable({"OLLAMA_MODELS"});
  const std::string ollama =
      first_folder({named_ollama, home + "/.ollama/models", "/usr/share/ollama/.ollama/models"});
  const std::string studio =
      first_folder({home + "/.lmstudio/models", home + "/.cache/lm-studio/models"});
  const std::string llama = first_folder({variable({"LLAMA_CACHE"}), cache_home() + "/llama.cpp"});
  const std::string endpoint = variable({"HF_ENDPOINT"});
  const std::string secret = hub_token();
  const std::string address = reference.starts_with("http") ? reference : endpoint;
  const std::string proxy = proxy_for(address);
  const std::string no_proxy = variable({"no_proxy", "NO_PROXY"});
  const std::string certificates = variable({"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"});
  tenon_hub_options options{};
  options.struct_size = sizeof options;
  options.offline = offline_ ? 1 : 0;
  options.endpoint = or_null(endpoint);
  options.token = or_null(secret);
  options.cache_folder = cache.c_str();
  options.url_folder = urls.c_str();
  options.ollama_folder = or_null(ollama);
  options.lmstudio_folder = or_null(studio);
  options.llamacpp_folder = or_null(llama);
  options.proxy = or_null(proxy);
  options.no_proxy = or_null(no_proxy);
  options.ca_file = or_null(certificates);
  options.connections = flags.connections;
  options.memory_bytes = flags.memory_bytes;
  options.context = flags.context;
  tenon_hub* made = nullptr;
  check_hub(tenon_hub_create(&options, &made));
  hub_.reset(made);
}

std::optional<HubModel> HubAccess::find(const std::string& reference, std::string& why) const {
  tenon_hub_model* found = nullptr;
  const tenon_status status = tenon_hub_find(hub_.get(), reference.c_str(), &found);
  if (status == TENON_OK) return taken(found);
  if (status != TENON_ERROR_STATE) fail_hub();
  why = tenon_hub_last_error();
  return std::nullopt;
}

HubModel HubAccess::pull(const std::string& reference) const {
  const Interruption interruption;
  PullDisplay display;
  tenon_hub_model* pulled = nullptr;
  const tenon_status status =
      tenon_hub_pull(hub_.get(), reference.c_str(), &PullDisplay::show, &display, &pulled);
  display.bar.clear();
  if (display.is_interrupted) Interruption::check();
  check_hub(status);
  return taken(pulled);
}

std::vector<HubModel> HubAccess::list() const {
  tenon_hub_list* raw = nullptr;
  check_hub(tenon_hub_list_create(hub_.get(), &raw));
  const std::unique_ptr<tenon_hub_list, void (*)(tenon_hub_list*)> list(raw,
                                                                        &tenon_hub_list_destroy);
  std::vector<HubModel> models;
  for (size_t i = 0; i < tenon_hub_list_size(list.get()); ++i) {
    tenon_hub_model_info info{};
    info.struct_size = sizeof info;
    check_hub(tenon_hub_list_get_info(list.get(), i, &info));
    models.push_back(copy_of(info));
  }
  return models;
}

uint64_t HubAccess::remove(const std::string& reference) const {
  uint64_t freed = 0;
  check_hub(tenon_hub_remove(hub_.get(), reference.c_str(), &freed));
  return freed;
}

}  // namespace tenon_program
