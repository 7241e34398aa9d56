// tenon backends: what can run models here, from where it was loaded, why a plugin was refused.
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

void list_backends(const BackendsFlags& flags) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const tenon::Backend& backend : tenon::backends(flags.plugins)) {
    if (flags.json) {
      json.push_back({{"name", backend.name},
                      {"state", state_text(backend)},
                      {"origin", backend.origin},
                      {"description", backend.description},
                      {"options", options_json(backend.options)}});
      continue;
    }
    print(printable(backend.name, 64) + "  " + state_text(backend) + "  from " +
          printable(backend.origin, 4096) + "\n    " + printable(backend.description, 4096) + "\n");
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
