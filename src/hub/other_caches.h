// Models of other programs on this machine, read where they are: Ollama, LM Studio, llama.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hub/reference.h"
#include "hub/settings.h"

namespace tenon::hub {

/// A model on this machine.
struct Model {
  std::string reference;  ///< by which it is found again: "hf:owner/name:Q4_K_M"
  std::string path;       ///< file or folder to open
  std::string projector;  ///< file; empty if there is none
  std::string source;     ///< whose cache it is in: "hub", "url", "ollama", "lmstudio", "llama.cpp"
  std::string commit;     ///< of "hub"
  std::string note;       ///< why this one was chosen, and what could not be verified
  uint64_t size_bytes = 0;
  uint64_t num_files = 0;
  bool is_whole = true;
};

/// All models of the programs whose folders the settings name. Damaged entries are left out.
std::vector<Model> other_models(const Settings& settings);

/// The model of another program that a reference names. Throws Argument with the nearest name.
Model find_other(const Settings& settings, const Reference& reference);

}  // namespace tenon::hub
