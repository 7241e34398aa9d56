#include "option_flags.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "flag_names.h"
#include "host.h"
#include "input_files.h"

namespace tenon_program {
namespace {

std::string flag_name(std::string_view key) {
  std::string name = "--" + std::string(key);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

/// Represents all options of the backend.
constexpr std::string_view kBackendKey = "backend.KEY";

/// Splits "isa=avx2" into an option's key and text.
std::pair<std::string, std::string> backend_option(const std::string& text) {
  const size_t end = text.find('=');
  if (end == text.npos) {
    throw CLI::ValidationError("--backend-option", "\"" + text + "\" is not KEY=VALUE");
  }
  return {"backend." + text.substr(0, end), text.substr(end + 1)};
}

/// Names for CLI11. Leaves out aliases that the command's own flags already use.
std::string free_names(const CLI::App& app, const std::string& name, std::string_view key) {
  std::string names = name;
  std::istringstream further(further_names(key));
  for (std::string other; std::getline(further, other, ',');) {
    if (!other.empty() && app.get_option_no_throw(other) == nullptr) names += "," + other;
  }
  return names;
}

/// True if the maximum is a real limit.
bool has_end(int64_t maximum) { return maximum < INT32_MAX; }

/// Formats "(default 0.8, 0..100)", "(default f16, of f16|f32)".
std::string range_text(const tenon_option_info& option) {
  std::ostringstream text;
  switch (option.type) {
    case TENON_OPTION_INT:
      text << " (default " << option.int_default;
      if (has_end(option.int_maximum)) {
        text << ", " << option.int_minimum << ".." << option.int_maximum;
      }
      text << ")";
      break;
    case TENON_OPTION_FLOAT:
      text << " (default " << option.float_default << ", " << option.float_minimum << ".."
           << option.float_maximum << ")";
      break;
    case TENON_OPTION_STRING:
      if (*option.string_default == '\0') break;
      text << " (default " << option.string_default;
      if (*option.string_choices != '\0') text << ", of " << option.string_choices;
      text << ")";
      break;
    default:
      break;
  }
  return text.str();
}

const char* value_name(int32_t type) {
  switch (type) {
    case TENON_OPTION_INT:
      return "N";
    case TENON_OPTION_FLOAT:
      return "X";
    default:
      return "TEXT";
  }
}

}  // namespace

tenon_option_info find_option(std::string_view name) {
  for (const tenon_option_info& option : tenon::option_list()) {
    if (option.name == name) return option;
  }
  throw std::out_of_range(std::string(name));
}

std::string option_doc(std::string_view name) {
  const tenon_option_info option = find_option(name);
  return option.doc + range_text(option);
}

void OptionFlags::add(CLI::App& app, int32_t scope, const char* group,
                      std::initializer_list<std::string_view> without) {
  for (const tenon_option_info& option : tenon::option_list()) {
    if (option.scope != scope) continue;
    if (std::find(without.begin(), without.end(), option.name) != without.end()) continue;
    Flag& flag = flags_.emplace_back(Flag{option.name});
    if (std::string_view(option.name) == kBackendKey) {
      app.add_option("--backend-option", flag.texts, option.doc)
          ->group(group)
          ->type_name("KEY=VALUE")
          ->expected(1)
          ->allow_extra_args(false)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
      continue;
    }
    const std::string doc = option.doc + range_text(option);
    if (option.type == TENON_OPTION_BOOL) {
      // An option that is on by default has a flag to turn it off.
      flag.value = option.int_default == 0 ? "true" : "false";
      const std::string name =
          flag_name(option.name).insert(2, option.int_default == 0 ? "" : "no-");
      app.add_flag(name, flag.is_set, (option.int_default == 0 ? "" : "Not: ") + doc)->group(group);
      continue;
    }
    const std::string names = free_names(app, flag_name(option.name), option.name);
    CLI::Option* added = app.add_option(names, flag.texts, doc)
                             ->group(group)
                             ->type_name(value_name(option.type))
                             ->expected(1)
                             ->allow_extra_args(false);
    added->multi_option_policy(option.type == TENON_OPTION_STRING_LIST
                                   ? CLI::MultiOptionPolicy::TakeAll
                                   : CLI::MultiOptionPolicy::TakeLast);
  }
}

namespace {

/// Template text: given literally, by a known name, or as a file (PATH or @PATH).
std::string template_text(const std::string& given) {
  const bool is_text = given.find("{{") != given.npos || given.find("{%") != given.npos;
  if (is_text || given.empty()) return given;
  if (given.front() == '@') return read_file(given.substr(1));
  std::error_code error;
  return std::filesystem::is_regular_file(path_of(given), error) ? read_file(given) : given;
}

}  // namespace

tenon::ExtraOptions OptionFlags::values() const {
  tenon::ExtraOptions values;
  for (const Flag& flag : flags_) {
    if (flag.is_set) values.emplace_back(flag.key, flag.value);
    const bool of_backend = flag.key == kBackendKey;
    for (const std::string& text : flag.texts) {
      if (of_backend) {
        values.push_back(backend_option(text));
      } else {
        values.emplace_back(flag.key, flag.key == "template" ? template_text(text) : text);
      }
    }
  }
  return values;
}

}  // namespace tenon_program
