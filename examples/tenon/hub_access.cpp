#include "hub_access.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>

#include "failure.h"
#ifdef TENON_HAS_HUB
#include "hub_handle.h"
#include "terminal.h"
#endif

namespace tenon_program {

bool is_reference(const std::string& model) {
  constexpr std::array<std::string_view, 6> kSchemes{"hf:",     "https://",  "http://",
                                                     "ollama:", "lmstudio:", "llama.cpp:"};
  return std::any_of(kSchemes.begin(), kSchemes.end(),
                     [&](std::string_view scheme) { return model.starts_with(scheme); });
}

void add_offline(CLI::App& command, bool& offline) {
  command.add_flag("--offline", offline, "Fetch nothing: use models that are on this machine");
}

#ifdef TENON_HAS_HUB

std::string model_path(const std::string& model, bool offline) {
  if (!is_reference(model)) return model;
  const HubAccess hub(model, {.offline = offline});
  std::string why;
  if (auto found = hub.find(model, why)) return found->path;
  if (hub.is_offline()) throw Failure(why);
  const HubModel pulled = hub.pull(model);
  if (!pulled.note.empty()) say(Style::Note, "note: " + printable(pulled.note, 512));
  return pulled.path;
}

#else

std::string model_path(const std::string& model, bool) {
  if (!is_reference(model)) return model;
  throw Failure(model + ": this build is without libtenon-hub, so models are files: give a path");
}

#endif

}  // namespace tenon_program
