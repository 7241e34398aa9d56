#include "option_table.h"

#include <array>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/thread_team.h"
#include "sampler/stage.h"

namespace tenon::capi {
namespace {

constexpr tenon_option blank(int32_t scope, int32_t type, const char* name, const char* doc) {
  tenon_option option{};
  option.struct_size = sizeof(tenon_option);
  option.scope = scope;
  option.type = type;
  option.name = name;
  option.doc = doc;
  option.string_default = "";
  option.string_choices = "";
  return option;
}

constexpr tenon_option integer(int32_t scope, const char* name, int64_t minimum, int64_t maximum,
                               int64_t initial, const char* doc) {
  tenon_option option = blank(scope, TENON_OPTION_INT, name, doc);
  option.int_minimum = minimum;
  option.int_maximum = maximum;
  option.int_default = initial;
  return option;
}

constexpr tenon_option real(int32_t scope, const char* name, double minimum, double maximum,
                            double initial, const char* doc) {
  tenon_option option = blank(scope, TENON_OPTION_FLOAT, name, doc);
  option.float_minimum = minimum;
  option.float_maximum = maximum;
  option.float_default = initial;
  return option;
}

constexpr tenon_option boolean(int32_t scope, const char* name, const char* doc) {
  tenon_option option = blank(scope, TENON_OPTION_BOOL, name, doc);
  option.int_maximum = 1;
  return option;
}

constexpr tenon_option text(int32_t scope, const char* name, const char* initial,
                            const char* choices, const char* doc) {
  tenon_option option = blank(scope, TENON_OPTION_STRING, name, doc);
  option.string_default = initial;
  option.string_choices = choices;
  return option;
}

constexpr int64_t kMaxContext = std::numeric_limits<int32_t>::max();

constexpr std::array kTable = {
    text(TENON_SCOPE_MODEL, "backend", "auto", "",
         "What runs the model: auto, cpu, reference or the name of a plugin."),
    integer(TENON_SCOPE_MODEL, "threads", 0, ThreadTeam::kMaxThreads, 0,
            "Threads that compute, the caller's included; 0: as many as the process has CPUs."),
    text(TENON_SCOPE_MODEL, "cache_type", "f16", "f16|f32|int8|q4",
         "Type of the KV cache: f16; f32 for exact evaluation; int8 takes half the memory of f16, "
         "q4 a "
         "quarter, both with one scale per position and head."),
    integer(
        TENON_SCOPE_MODEL, "slice", 1, 65536, 512,
        "Tokens of a prompt that are computed in one step; more is faster and takes more scratch "
        "memory."),
    text(TENON_SCOPE_MODEL, "isa", "", "",
         "Instruction set of the CPU kernels: portable, avx2, ...; empty: the best of this CPU."),
    boolean(TENON_SCOPE_MODEL, "vocabulary_only",
            "Read the metadata and the vocabulary only: to tokenize."),
    boolean(TENON_SCOPE_MODEL, "inspect",
            "Plan the program and its memory, but load no weights: to look at a model."),
    boolean(
        TENON_SCOPE_MODEL, "check_weights",
        "Look for NaN and infinity in the weights while loading and refuse a file that has any."),
    blank(TENON_SCOPE_MODEL, TENON_OPTION_STRING_LIST, "plugin",
          "Path of a backend plugin to load besides those in the folder tenon beside the library."),
    blank(TENON_SCOPE_MODEL, TENON_OPTION_STRING_LIST, "override",
          "A metadata value in place of the file's: key=type:value, type int, float, bool or str."),
    integer(TENON_SCOPE_SESSION, "context", 0, kMaxContext, 0,
            "Most tokens that the session holds; 0: what the model was trained for, at most 8192."),
};

tenon_option from_parameter(const SamplerParameter& parameter) {
  return parameter.type == ParameterType::Integer
             ? integer(TENON_SCOPE_SAMPLER, parameter.name, parameter.minimum.integer,
                       parameter.maximum.integer, parameter.initial.integer, parameter.doc)
             : real(TENON_SCOPE_SAMPLER, parameter.name, parameter.minimum.real,
                    parameter.maximum.real, parameter.initial.real, parameter.doc);
}

/// Calls visit(option) for every option in order until it returns true.
template <typename Visit>
void for_each_option(Visit visit) {
  for (const tenon_option& option : kTable) {
    if (visit(option)) return;
  }
  bool done = false;
  for_each_sampler_parameter([&](const SamplerParameter& parameter) {
    if (!done) done = visit(from_parameter(parameter));
  });
}

}  // namespace

size_t num_options() {
  size_t count = kTable.size();
  for_each_sampler_parameter([&](const SamplerParameter&) { ++count; });
  return count;
}

tenon_option option_at(size_t index) {
  std::optional<tenon_option> found;
  size_t at = 0;
  for_each_option([&](const tenon_option& option) {
    if (at++ != index) return false;
    found = option;
    return true;
  });
  if (!found) fail(Code::Argument, "option {} does not exist; there are {}", index, at);
  return *found;
}

tenon_option find_option(std::string_view name) {
  std::optional<tenon_option> found;
  NearestName nearest(name);
  for_each_option([&](const tenon_option& option) {
    if (name == option.name) found = option;
    if (!found) nearest.consider(option.name);
    return found.has_value();
  });
  if (!found) {
    fail(Code::Argument, "no option \"{}\"; the nearest name is \"{}\"", nearest.name(),
         nearest.nearest());
  }
  return *found;
}

const char* option_type_name(int32_t type) {
  constexpr std::array kNames = {"", "int", "float", "bool", "string", "string list"};
  return type > 0 && static_cast<size_t>(type) < kNames.size() ? kNames[type] : "unknown";
}

}  // namespace tenon::capi
