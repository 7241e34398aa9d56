// Models by reference ("hf:owner/name:Q4_K_M", an address, "ollama:name"): found on this machine, or
// fetched. Without libtenon-hub every MODEL is a path.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tenon_program {

/// Adds --offline to a command; `offline` is false unless it is given.
void add_offline(CLI::App& command, bool& offline);

/// Path of the model that MODEL names: a path as it is; a reference is looked up on this machine and
/// fetched if it is missing, with progress on a terminal. Throws Failure for what cannot be had.
std::string model_path(const std::string& model, bool offline = false);

/// Whether MODEL is a reference.
bool is_reference(const std::string& model);

}  // namespace tenon_program
