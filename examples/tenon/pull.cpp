// tenon pull, tenon list, tenon rm: models of a hub and of other programs on this machine.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.h"
#include "hub_access.h"
#include "hub_handle.h"
#include "number_lists.h"
#include "terminal.h"

namespace tenon_program {
namespace {

constexpr const char* kReferenceForms =
    "hf:OWNER/NAME, with @REVISION and :QUANTISATION or :FILE, or the address of a .gguf file";

struct PullFlags : HubFlags {
  std::string reference;
};

void pull(const PullFlags& flags) {
  const HubModel model = HubAccess(flags.reference, flags).pull(flags.reference);
  if (!model.note.empty()) say(Style::Note, "note: " + printable(model.note, 1024));
  if (!model.projector.empty()) {
    say(Style::Note, "note: with its projector " + printable(model.projector, 4096));
  }
  print(model.path + "\n");
  flush();
}

void list_models(bool as_json) {
  const std::vector<HubModel> models = HubAccess("", {}).list();
  if (as_json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const HubModel& model : models) {
      json.push_back({{"reference", model.reference},
                      {"path", model.path},
                      {"projector", model.projector},
                      {"source", model.source},
                      {"commit", model.commit},
                      {"size_bytes", model.size_bytes},
                      {"num_files", model.num_files},
                      {"is_whole", model.is_whole}});
    }
    print(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  } else {
    size_t width = 0;
    for (const HubModel& model : models) width = std::max(width, model.reference.size());
    for (const HubModel& model : models) {
      std::string line = printable(model.reference, 1024);
      line.resize(std::max(line.size(), std::min<size_t>(width, 72)), ' ');
      print(line + "  " + size_text(model.size_bytes) +
            (model.is_whole ? "" : "  parts are missing") + "\n");
    }
    if (models.empty()) say(Style::Note, "note: no models; `tenon pull hf:OWNER/NAME` gets one");
  }
  flush();
}

void remove(const std::string& reference) {
  const uint64_t freed = HubAccess(reference, {}).remove(reference);
  print(size_text(freed) + " freed\n");
  flush();
}

}  // namespace

void add_pull(CLI::App& app) {
  auto flags = std::make_shared<PullFlags>();
  CLI::App* command = app.add_subcommand(
      "pull",
      "Get a model, or what is missing of it, and print its path. Without a quantisation the largest "
      "one is chosen that fits into memory, as `tenon plan` says. An interrupted pull goes "
      "on from where it was.");
  command->add_option("REFERENCE", flags->reference, kReferenceForms)->required();
  add_offline(*command, flags->offline);
  command->add_option("--connections", flags->connections, "Connections per file (default 4)")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
  command
      ->add_option("--memory", flags->memory_bytes,
                   "Bytes that the chosen model may take (default: what is free)")
      ->type_name("N")
      ->check(whole_number(0, INT64_MAX));
  command
      ->add_option("-c,--context,--ctx-size,--num-ctx", flags->context,
                   "Positions for which it must fit (default: a session's)")
      ->type_name("N")
      ->check(whole_number(0, INT64_MAX));
  command->callback([flags] { pull(*flags); });
}

void add_model_list(CLI::App& app) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "list",
      "List the models on this machine that can be run by name: those that were pulled, and those of "
      "other programs (huggingface_hub, Ollama, LM Studio, llama.cpp), which are read in place.");
  command->add_flag("--json", *as_json, "Print JSON, with paths");
  command->callback([as_json] { list_models(*as_json); });
}

void add_rm(CLI::App& app) {
  auto reference = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "rm",
      "Remove a model that was pulled: all of hf:OWNER/NAME, or one quantisation of it. Models of "
      "other programs are theirs to remove.");
  command->add_option("REFERENCE", *reference, kReferenceForms)->required();
  command->callback([reference] { remove(*reference); });
}

}  // namespace tenon_program
