// Options to open a model: a host's (model_options.def) and a program's.
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

/// Use of a model: rows of texts (Embedder), text, or both over one copy of the weights. Auto: rows
/// if the file is an encoder or names a pooling.
enum class Embeddings : uint8_t { Auto, On, Also, Off };

/// Auto: decided by the file and the machine.
enum class Switch : uint8_t { Auto, On, Off };

/// Device of the experts. Auto: with the rest of their layer.
enum class ExpertsOn : uint8_t { Auto, Cpu };

/// The defaults suit a program on a machine of its own.
struct ModelOptions {
#define OPTION(key, member, kind, doc) decltype(kind)::Value member = option::initial(kind);
#define OPTION_APART(key, kind, doc)
#include "model/model_options.def"
#undef OPTION
#undef OPTION_APART

  /// Keys and values for the backend, from those it lists (list_options): {"isa", "avx2"}.
  std::vector<std::pair<std::string, std::string>> backend_options;
  std::optional<Executor> executor;  ///< runs steps on the host's threads; empty: own threads
  bool plans_only = false;           ///< compiles for the sizes only, to plan
  /// The trunk returns statistics of the inputs of its products (collect_importance).
  bool product_inputs = false;
  Log log;
  /// Called on the loading thread while weights load; returning false cancels.
  std::function<bool(double fraction)> progress;
  std::shared_ptr<System> system = System::real();
};

/// Throws Argument for a number outside its range and for invalid devices.
void check_options(const ModelOptions& options);

}  // namespace tenon
