// How a model is opened: what a host may say (model_options.def), and what a program gives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/option_kinds.h"
#include "base/system.h"
#include "base/thread_team.h"
#include "program/cache_types.h"

namespace tenon {

/// Auto: as the file and the machine suggest.
enum class Switch : uint8_t { Auto, On, Off };

/// Where the work of chosen experts is done. Auto: with the rest of their layer.
enum class ExpertsOn : uint8_t { Auto, Cpu };

/// The defaults suit a program on a machine of its own.
struct ModelOptions {
#define OPTION(key, member, kind, doc) decltype(kind)::Value member = option::initial(kind);
#define OPTION_APART(key, kind, doc)
#include "model/model_options.def"
#undef OPTION
#undef OPTION_APART

  /// Keys and values for the backend, which lists what it takes (list_options): {"isa", "avx2"}.
  std::vector<std::pair<std::string, std::string>> backend_options;
  std::optional<Executor> executor;  ///< the host's threads instead of own ones
  bool plans_only = false;           ///< compiled for its sizes alone; of planning
  Log log;
  /// Called while weights are loaded, on the loading thread; false cancels.
  std::function<bool(double fraction)> progress;
  std::shared_ptr<System> system = System::real();
};

/// Throws Argument for a number outside its range and for devices that mean nothing.
void check_options(const ModelOptions& options);

}  // namespace tenon
