// C interface of the hub: tenon/hub.h.
#include <interface_json.h>
#include <tenon/hub.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "capi/host_struct.h"
#include "capi/last_error.h"
#include "hub/hub.h"

struct tenon_hub {
  explicit tenon_hub(tenon::hub::Settings settings) : hub(std::move(settings)) {}
  tenon::hub::Hub hub;
};

struct tenon_hub_model {
  tenon::hub::Model model;
};

struct tenon_hub_list {
  std::vector<tenon::hub::Model> models;
};

namespace {

using namespace tenon::hub;
using tenon::Code;

constinit thread_local tenon::capi::LastError<tenon::Error> hub_error;

template <typename T>
T& checked(T* object, const char* name) {
  if (object == nullptr) tenon::fail(Code::Argument, "{} is NULL", name);
  return *object;
}

void set_text(std::string& into, const char* text) {
  if (text != nullptr) into = text;
}

void set_time(double& into, double seconds, const char* name) {
  if (!(seconds >= 0)) tenon::fail(Code::Argument, "{} is negative", name);
  if (seconds > 0) into = std::min(seconds, 1e6);
}

Settings settings_of(const tenon_hub_options& given) {
  Settings settings;
  set_text(settings.endpoint, given.endpoint);
  set_text(settings.token, given.token);
  set_text(settings.cache_folder, given.cache_folder);
  set_text(settings.url_folder, given.url_folder);
  set_text(settings.ollama_folder, given.ollama_folder);
  set_text(settings.lmstudio_folder, given.lmstudio_folder);
  set_text(settings.llamacpp_folder, given.llamacpp_folder);
  settings.offline = given.offline != 0;
  if (given.connections > 0) settings.connections = std::min(given.connections, 64U);
  if (given.retries > 0) settings.retries = std::min(given.retries, 1000U);
  set_time(settings.stall_seconds, given.stall_seconds, "stall_seconds");
  set_time(settings.retry_seconds, given.retry_seconds, "retry_seconds");
  settings.memory_bytes = given.memory_bytes;
  settings.context = given.context;
  if (given.piece_bytes > 0) {
    settings.piece_bytes = std::clamp<uint64_t>(given.piece_bytes, 4096, uint64_t{1} << 30);
  }
  CurlOptions curl;
  set_text(curl.proxy, given.proxy);
  set_text(curl.no_proxy, given.no_proxy);
  set_text(curl.ca_file, given.ca_file);
  set_time(curl.connect_seconds, given.connect_seconds, "connect_seconds");
  settings.open_transport = [curl, system = settings.system] { return open_curl(*system, curl); };
  return settings;
}

void write_info(const Model& model, tenon_hub_model_info* info) {
  tenon_hub_model_info told{};
  told.is_whole = model.is_whole ? 1 : 0;
  told.reference = model.reference.c_str();
  told.path = model.path.c_str();
  told.projector = model.projector.c_str();
  told.source = model.source.c_str();
  told.commit = model.commit.c_str();
  told.note = model.note.c_str();
  told.size_bytes = model.size_bytes;
  told.num_files = model.num_files;
  tenon::capi::host_struct_out(told, info, "tenon_hub_model_info",
                               tenon::capi::kRefuse<tenon::Error>);
}

Hub::Report report_to(tenon_hub_progress_callback progress, void* user) {
  if (progress == nullptr) return {};
  return [progress, user](const Progress& now) {
    tenon_hub_progress told{};
    told.struct_size = sizeof told;
    told.phase = static_cast<uint32_t>(now.phase);
    told.file = now.file.c_str();
    told.file_index = now.file_index;
    told.num_files = now.num_files;
    told.bytes_done = now.bytes_done;
    told.bytes_total = now.bytes_total;
    return progress(user, &told) != 0;
  };
}

}  // namespace

tenon_status tenon_hub_create(const tenon_hub_options* options, tenon_hub** hub) {
  return hub_error.fence([&] {
    tenon_hub*& into = checked(hub, "hub");
    const auto known = tenon::capi::host_struct_in(options, "tenon_hub_options",
                                                   tenon::capi::kRefuse<tenon::Error>);
    into = std::make_unique<tenon_hub>(settings_of(known)).release();
  });
}

void tenon_hub_destroy(tenon_hub* hub) { delete hub; }

tenon_status tenon_hub_model_get_info(const tenon_hub_model* model, tenon_hub_model_info* info) {
  return hub_error.fence([&] { write_info(checked(model, "model").model, info); });
}

void tenon_hub_model_destroy(tenon_hub_model* model) { delete model; }

tenon_status tenon_hub_pull(tenon_hub* hub, const char* reference,
                            tenon_hub_progress_callback progress, void* user,
                            tenon_hub_model** model) {
  return hub_error.fence([&] {
    tenon_hub_model*& into = checked(model, "model");
    const std::string text = &checked(reference, "reference");
    auto made = std::make_unique<tenon_hub_model>();
    made->model = checked(hub, "hub").hub.pull(text, report_to(progress, user));
    into = made.release();
  });
}

tenon_status tenon_hub_find(const tenon_hub* hub, const char* reference, tenon_hub_model** model) {
  return hub_error.fence([&] {
    tenon_hub_model*& into = checked(model, "model");
    const std::string text = &checked(reference, "reference");
    auto made = std::make_unique<tenon_hub_model>();
    made->model = checked(hub, "hub").hub.find(text);
    into = made.release();
  });
}

void tenon_hub_cancel(tenon_hub* hub) {
  if (hub != nullptr) hub->hub.cancel();
}

tenon_status tenon_hub_list_create(const tenon_hub* hub, tenon_hub_list** list) {
  return hub_error.fence([&] {
    tenon_hub_list*& into = checked(list, "list");
    auto made = std::make_unique<tenon_hub_list>();
    made->models = checked(hub, "hub").hub.list();
    into = made.release();
  });
}

size_t tenon_hub_list_size(const tenon_hub_list* list) {
  return list == nullptr ? 0 : list->models.size();
}

tenon_status tenon_hub_list_get_info(const tenon_hub_list* list, size_t index,
                                     tenon_hub_model_info* info) {
  return hub_error.fence([&] {
    const auto& models = checked(list, "list").models;
    if (index >= models.size()) {
      tenon::fail(Code::Argument, "index is {}, the list has {} models", index, models.size());
    }
    write_info(models[index], info);
  });
}

void tenon_hub_list_destroy(tenon_hub_list* list) { delete list; }

tenon_status tenon_hub_remove(tenon_hub* hub, const char* reference, uint64_t* bytes_freed) {
  return hub_error.fence([&] {
    const std::string text = &checked(reference, "reference");
    const uint64_t freed = checked(hub, "hub").hub.remove(text);
    if (bytes_freed != nullptr) *bytes_freed = freed;
  });
}

const char* tenon_hub_last_error(void) { return hub_error.text(); }

const char* tenon_hub_interface_description(void) { return tenon::kInterfaceJson; }
