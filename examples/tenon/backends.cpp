// tenon backends: lists backends and devices, their files, and the reasons for refusing plugins.
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "commands.h"
#include "option_flags.h"
#include "terminal.h"

namespace tenon_program {
namespace {

struct BackendsFlags {
  std::vector<std::string> plugins;
  bool json = false;
};

std::string state_text(const tenon::Backend& backend) {
  if (backend.status == tenon::Code::Ok) return "ready";
  return std::string("refused (") + tenon_status_name(static_cast<tenon_status>(backend.status)) +
         ")";
}

struct OptionOfBackend {
  std::string key, values, initial, doc;
};

std::vector<OptionOfBackend> options_of(const std::string& text) {
  std::vector<OptionOfBackend> options;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    OptionOfBackend option;
    for (std::string* field : {&option.key, &option.values, &option.initial, &option.doc}) {
      std::getline(fields, *field, '\t');
    }
    options.push_back(std::move(option));
  }
  return options;
}

nlohmann::ordered_json options_json(const std::string& text) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const auto& [key, values, initial, doc] : options_of(text)) {
    json.push_back({{"key", key}, {"values", values}, {"default", initial}, {"doc", doc}});
  }
  return json;
}

const char* kind_name(int32_t kind) {
  switch (kind) {
    case TENON_DEVICE_KIND_REFERENCE:
      return "reference";
    case TENON_DEVICE_KIND_CPU:
      return "cpu";
    case TENON_DEVICE_KIND_GPU:
      return "gpu";
    case TENON_DEVICE_KIND_ACCELERATOR:
      return "accelerator";
    default:
      return "unknown";
  }
}

nlohmann::ordered_json devices_json(const std::vector<tenon::BackendDevice>& devices) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const tenon::BackendDevice& device : devices) {
    json.push_back({{"name", device.name},
                    {"kind", kind_name(device.kind)},
                    {"description", device.description},
                    {"unavailable", device.unavailable},
                    {"memory_total", device.memory_total},
                    {"memory_available", device.memory_available}});
  }
  return json;
}

/// Formats a device: "vulkan:0  gpu  NVIDIA H100  78.2 GiB free of 79.6 GiB".
std::string device_text(const tenon::Backend& backend, size_t number) {
  const tenon::BackendDevice& device = backend.devices[number];
  std::string text = "    " + printable(backend.name, 64) + ":" + std::to_string(number) + "  " +
                     kind_name(device.kind) + "  " + printable(device.name, 64);
  if (device.memory_total != 0) {
    text +=
        "  " + size_text(device.memory_available) + " free of " + size_text(device.memory_total);
  }
  if (!device.unavailable.empty()) {
    text += "  cannot be used: " + printable(device.unavailable, 192);
  }
  return text + "\n";
}

void list_backends(const BackendsFlags& flags) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const tenon::Backend& backend : tenon::backends(flags.plugins)) {
    if (flags.json) {
      json.push_back({{"name", backend.name},
                      {"state", state_text(backend)},
                      {"origin", backend.origin},
                      {"description", backend.description},
                      {"devices", devices_json(backend.devices)},
                      {"options", options_json(backend.options)}});
      continue;
    }
    print(printable(backend.name, 64) + "  " + state_text(backend) + "  from " +
          printable(backend.origin, 4096) + "\n    " + printable(backend.description, 4096) + "\n");
    for (size_t i = 0; i < backend.devices.size(); ++i) print(device_text(backend, i));
    for (const auto& [key, values, initial, doc] : options_of(backend.options)) {
      print("    backend." + printable(key, 64) + "  " + printable(doc, 4096) + " " +
            printable(values, 4096) + (initial.empty() ? "" : "; " + printable(initial, 4096)) +
            "\n");
    }
  }
  if (flags.json) {
    print(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  }
  flush();
}

}  // namespace

void add_backends(CLI::App& app) {
  auto flags = std::make_shared<BackendsFlags>();
  CLI::App* command = app.add_subcommand(
      "backends", "List what can run models, from where, and why a plugin was refused");
  command->add_option("--plugin", flags->plugins, "Path of a plugin to try as well")
      ->type_name("PATH")
      ->allow_extra_args(false);
  command->add_flag("--json", flags->json, "Print JSON");
  command->callback([flags] { list_backends(*flags); });
}

}  // namespace tenon_program
