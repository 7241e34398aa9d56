// tenon render: prompt that a chat template makes from a conversation.
#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tenon/tenon.hpp>

#include "commands.h"
#include "failure.h"
#include "host.h"
#include "input_files.h"
#include "json_files.h"
#include "terminal.h"

namespace tenon_program {
namespace {

struct RenderFlags {
  std::string source;
  std::string file;
  std::string name;
  std::string template_name;
};

/// Conversation of a case file: the file itself, or a case of its list `cases` by name, merged with
/// the members beside the list.
std::string conversation_of(const RenderFlags& flags) {
  Json file = read_json(flags.file);
  if (!file.is_object()) throw Failure(flags.file + ": holds no JSON object");
  if (file.contains("cases") && !file.contains("messages")) {
    Json found;
    if (!file["cases"].is_array()) throw Failure(flags.file + ": \"cases\" is no list");
    for (const Json& one : file["cases"]) {
      if (!one.is_object()) continue;
      const Json name = one.value("name", Json(""));
      if (flags.name.empty() || name == flags.name) {
        found = one;
        break;
      }
    }
    if (found.is_null()) throw Failure(flags.file + ": has no case \"" + flags.name + "\"");
    for (const auto& [key, value] : file.items()) {
      if (key != "cases" && key != "template" && !found.contains(key)) found[key] = value;
    }
    file = std::move(found);
  }
  for (const char* key : {"name", "expected", "error"}) file.erase(key);
  return json_line(file);
}

bool is_model(const std::string& path) {
  std::ifstream file(path_of(path), std::ios::binary);
  char magic[4] = {};
  file.read(magic, sizeof magic);
  return std::string_view(magic, sizeof magic) == "GGUF";
}

std::string rendered(const RenderFlags& flags, const std::string& conversation) {
  tenon::ChatOptions options{.raw = true};
  if (!flags.template_name.empty()) options.template_name = flags.template_name;
  if (is_model(flags.source)) {
    const tenon::Model model(flags.source, {.vocabulary_only = true});
    return tenon::Chat(model, options).render(conversation);
  }
  options.chat_template = read_file(flags.source);
  if (options.chat_template->empty()) return "";
  return tenon::Chat(options).render(conversation);
}

void render(const RenderFlags& flags) {
  print(rendered(flags, conversation_of(flags)));
  flush();
}

}  // namespace

void add_render(CLI::App& app) {
  auto flags = std::make_shared<RenderFlags>();
  CLI::App* command =
      app.add_subcommand("render", "Print the prompt that a chat template makes of a conversation");
  command->add_option("-m,--model,MODEL", flags->source, "GGUF file, or a file with a template")
      ->required();
  command
      ->add_option("--case", flags->file,
                   "JSON file: messages, tools, add_generation_prompt, bos_token, eos_token, now "
                   "and further variables (-: standard input)")
      ->required();
  command->add_option("--name", flags->name, "Which of the cases of the file");
  command->add_option("--template-name", flags->template_name, "Which of the model's templates");
  command->callback([flags] { render(*flags); });
}

}  // namespace tenon_program
