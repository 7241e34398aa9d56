#include "option_table.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/option_kinds.h"
#include "engine/embedder_options.h"
#include "engine/engine_options.h"
#include "engine/session_options.h"
#include "model/model_options.h"
#include "sampler/banned_texts.h"
#include "sampler/stage.h"
#include "text/chat/chat_options.h"

namespace tenon::capi {
namespace {

/// Option with the limits of a list.
struct Entry {
  tenon_option_info info;
  ListLimits limits;
};

constexpr Entry blank(int32_t type, const char* name, const char* doc) {
  Entry entry{};
  entry.info.struct_size = sizeof(tenon_option_info);
  entry.info.type = type;
  entry.info.name = name;
  entry.info.doc = doc;
  entry.info.string_default = "";
  entry.info.string_choices = "";
  return entry;
}

template <typename Kind>
constexpr Entry entry_of(const char* name, const Kind& kind, const char* doc) {
  using Given = typename Kind::Given;
  if constexpr (std::is_same_v<Given, int64_t>) {
    Entry entry = blank(TENON_OPTION_INT, name, doc);
    entry.info.int_minimum = kind.minimum;
    entry.info.int_maximum = kind.maximum;
    entry.info.int_default = kind.standard;
    return entry;
  } else if constexpr (std::is_same_v<Given, double>) {
    Entry entry = blank(TENON_OPTION_FLOAT, name, doc);
    entry.info.float_minimum = kind.minimum;
    entry.info.float_maximum = kind.maximum;
    entry.info.float_default = kind.standard;
    return entry;
  } else if constexpr (std::is_same_v<Given, bool>) {
    Entry entry = blank(TENON_OPTION_BOOL, name, doc);
    entry.info.int_maximum = 1;
    entry.info.int_default = kind.standard ? 1 : 0;
    return entry;
  } else if constexpr (std::is_same_v<Given, std::string>) {
    Entry entry = blank(TENON_OPTION_STRING, name, doc);
    entry.info.string_default = kind.standard;
    entry.info.string_choices = kind.words;
    return entry;
  } else {
    Entry entry = blank(TENON_OPTION_STRING_LIST, name, doc);
    entry.limits = {kind.max_texts, kind.max_bytes, kind.max_total_bytes};
    return entry;
  }
}

template <size_t kCount>
constexpr std::array<Entry, kCount> of_scope(int32_t scope, std::array<Entry, kCount> entries) {
  for (Entry& entry : entries) entry.info.scope = scope;
  return entries;
}

#define OPTION(key, member, kind, doc) entry_of(#key, kind, doc),
#define OPTION_APART(key, kind, doc) entry_of(#key, kind, doc),
constexpr auto kModel = of_scope(TENON_SCOPE_MODEL, std::array{
#include "model/model_options.def"
                                                    });
constexpr auto kSampler = of_scope(TENON_SCOPE_SAMPLER, std::array{
#include "sampler/text_options.def"
                                                        });
constexpr auto kSession = of_scope(TENON_SCOPE_SESSION, std::array{
#include "engine/session_options.def"
                                                        });
constexpr auto kEngine = of_scope(TENON_SCOPE_ENGINE, std::array{
#include "engine/engine_options.def"
                                                      });
constexpr auto kEmbedder = of_scope(TENON_SCOPE_EMBEDDER, std::array{
#include "engine/embedder_options.def"
                                                          });
constexpr auto kChat = of_scope(TENON_SCOPE_CHAT, std::array{
#include "text/chat/chat_options.def"
                                                  });
#undef OPTION
#undef OPTION_APART
/// Tables in the order of tenon_option_get_info.
constexpr std::array<std::span<const Entry>, 6> kTables = {kModel,  kSampler,  kSession,
                                                           kEngine, kEmbedder, kChat};

tenon_option_info from_parameter(const SamplerParameter& parameter) {
  const auto [low, high, at] = std::tie(parameter.minimum, parameter.maximum, parameter.initial);
  Entry entry =
      parameter.type == ParameterType::Integer
          ? entry_of(parameter.name, option::Whole<int64_t>(low.integer, high.integer, at.integer),
                     parameter.doc)
          : entry_of(parameter.name, option::Real(low.real, high.real, at.real), parameter.doc);
  entry.info.scope = TENON_SCOPE_SAMPLER;
  return entry.info;
}

/// Calls visit(option) for every option in order until it returns true.
template <typename Visit>
void for_each_option(Visit visit) {
  for (const std::span<const Entry> table : kTables) {
    for (const Entry& entry : table) {
      if (visit(entry.info)) return;
    }
  }
  bool done = false;
  for_each_sampler_parameter([&](const SamplerParameter& parameter) {
    if (!done) done = visit(from_parameter(parameter));
  });
}

bool names(const tenon_option_info& option, std::string_view name) {
  return name == option.name ||
         (option.name == std::string_view(kBackendKey) && is_backend_key(name));
}

}  // namespace

size_t num_options() {
  size_t count = 0;
  for (const std::span<const Entry> table : kTables) count += table.size();
  for_each_sampler_parameter([&](const SamplerParameter&) { ++count; });
  return count;
}

tenon_option_info option_at(size_t index) {
  std::optional<tenon_option_info> found;
  size_t at = 0;
  for_each_option([&](const tenon_option_info& option) {
    if (at++ != index) return false;
    found = option;
    return true;
  });
  if (!found) fail(Code::Argument, "option {} does not exist; there are {}", index, at);
  return *found;
}

tenon_option_info find_option(std::string_view name) {
  std::optional<tenon_option_info> found;
  for_each_option([&](const tenon_option_info& option) {
    if (names(option, name)) found = option;
    return found.has_value();
  });
  if (found) return *found;
  NearestName nearest(name);
  for_each_option([&](const tenon_option_info& option) {
    nearest.consider(option.name);
    return false;
  });
  // Name the options of other libraries that Tenon takes per generation.
  const std::string_view meant = meaning_of_field_word(name);
  if (name == "max_tokens" || name == "ignore_end" || meant == "max_tokens" ||
      meant == "ignore_end") {
    fail(Code::Argument, "no option \"{}\"; it is \"{}\" of a generation", nearest.name(),
         meant.empty() ? name : meant);
  }
  fail(Code::Argument, "no option \"{}\"{}", nearest.name(), nearest.hint());
}

ListLimits list_limits(std::string_view name) {
  for (const std::span<const Entry> table : kTables) {
    for (const Entry& entry : table) {
      if (name == entry.info.name) return entry.limits;
    }
  }
  return {};
}

const char* option_type_name(int32_t type) {
  constexpr std::array kNames = {"", "int", "float", "bool", "string", "string list"};
  return type > 0 && static_cast<size_t>(type) < kNames.size() ? kNames[type] : "unknown";
}

}  // namespace tenon::capi
