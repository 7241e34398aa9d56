#include "option_set.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "file/metadata.h"
#include "option_table.h"
#include "sampler/parameters.h"

namespace tenon::capi {
namespace {

void check_type(const tenon_option_info& option, int32_t given) {
  if (option.type == given) return;
  fail(Code::Argument, "option \"{}\" is of type {}, not {}", option.name,
       option_type_name(option.type), option_type_name(given));
}

void check_integer(const tenon_option_info& option, int64_t value) {
  if (value >= option.int_minimum && value <= option.int_maximum) return;
  fail(Code::Argument, "option \"{}\" is {}, not in {}..{}", option.name, value, option.int_minimum,
       option.int_maximum);
}

void check_real(const tenon_option_info& option, double value) {
  // Comparison order that rejects NaN.
  if (value >= option.float_minimum && value <= option.float_maximum) return;
  fail(Code::Argument, "option \"{}\" is {}, not in {}..{}", option.name, value,
       option.float_minimum, option.float_maximum);
}

bool is_choice(std::string_view choices, std::string_view value) {
  while (!choices.empty()) {
    const size_t end = choices.find('|');
    if (choices.substr(0, end) == value) return true;
    if (end == std::string_view::npos) return false;
    choices.remove_prefix(end + 1);
  }
  return false;
}

void check_text(const tenon_option_info& option, std::string_view value) {
  if (value.find('\0') != value.npos) {
    fail(Code::Argument, "option \"{}\" holds a NUL byte", option.name);
  }
  if (option.name == std::string_view("override")) (void)parse_metadata_override(value);
  const std::string_view choices = option.string_choices;
  if (!choices.empty() && !is_choice(choices, value)) {
    fail(Code::Argument, "option \"{}\" is \"{}\", not one of {}", option.name, value.substr(0, 64),
         choices);
  }
}

/// Bounds beyond any backend's, on number and length.
constexpr size_t kMostBackendKeys = 1000;
constexpr size_t kMostKeyBytes = 64;

/// Throws Limit unless a text of `added` bytes may follow `count` texts of `size_bytes`.
void check_limits(const tenon_option_info& option, size_t count, size_t size_bytes, size_t added) {
  const ListLimits limits = list_limits(option.name);
  if (count >= limits.texts) {
    fail(Code::Limit, "{}: {} texts, the limit is {}", option.name, count + 1, limits.texts);
  }
  if (added > limits.text_bytes) {
    fail(Code::Limit, "{}: a text of {} bytes, the limit is {}", option.name, added,
         limits.text_bytes);
  }
  if (added > limits.total_bytes - size_bytes) {
    fail(Code::Limit, "{}: more than {} bytes", option.name, limits.total_bytes);
  }
}

/// Parses the whole of `text` as a number. Throws Argument.
template <typename Number>
Number parse_number(const tenon_option_info& option, std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    fail(Code::Argument, "option \"{}\" is \"{}\", no {} that can be represented", option.name,
         text.substr(0, 64), option_type_name(option.type));
  }
  return value;
}

bool parse_boolean(const tenon_option_info& option, std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  fail(Code::Argument, "option \"{}\" is \"{}\", not true or false", option.name,
       text.substr(0, 64));
}

}  // namespace

const OptionSet::Entry* OptionSet::find(std::string_view key) const {
  for (const Entry& entry : entries_) {
    if (key == entry.option.name) return &entry;
  }
  return nullptr;
}

OptionSet::Entry* OptionSet::find(std::string_view key) {
  return const_cast<Entry*>(std::as_const(*this).find(key));
}

void OptionSet::put(Entry entry) {
  if (Entry* present = find(entry.option.name))
    *present = std::move(entry);
  else
    entries_.push_back(std::move(entry));
}

void OptionSet::set_int(std::string_view key, int64_t value) {
  const tenon_option_info option = find_option(key);
  if (option.type == TENON_OPTION_FLOAT) return set_float(key, static_cast<double>(value));
  check_type(option, TENON_OPTION_INT);
  check_integer(option, value);
  put({option, value, 0, {}, 0});
}

void OptionSet::set_float(std::string_view key, double value) {
  const tenon_option_info option = find_option(key);
  check_type(option, TENON_OPTION_FLOAT);
  check_real(option, value);
  put({option, 0, value, {}, 0});
}

void OptionSet::set_bool(std::string_view key, int32_t value) {
  const tenon_option_info option = find_option(key);
  check_type(option, TENON_OPTION_BOOL);
  put({option, value != 0, 0, {}, 0});
}

void OptionSet::set_backend(const tenon_option_info& option, std::string_view key,
                            std::string_view value) {
  if (key.empty() || key.size() > kMostKeyBytes) {
    fail(Code::Argument, "option \"{}\": a key of {} bytes, not 1..{}", option.name, key.size(),
         kMostKeyBytes);
  }
  check_text(option, value);
  for (auto& [present, old_value] : backend_) {
    if (present != key) continue;
    old_value = value;
    return;
  }
  if (backend_.size() >= kMostBackendKeys) {
    fail(Code::Limit, "option \"{}\": {} keys, the limit is {}", option.name, backend_.size() + 1,
         kMostBackendKeys);
  }
  backend_.emplace_back(key, value);
}

void OptionSet::set_string(std::string_view key, std::string_view value) {
  const tenon_option_info option = find_option(key);
  if (is_backend_key(key)) return set_backend(option, key.substr(kBackendPrefix.size()), value);
  if (option.type != TENON_OPTION_STRING_LIST) check_type(option, TENON_OPTION_STRING);
  if (option.type == TENON_OPTION_STRING_LIST) check_limits(option, 0, 0, value.size());
  check_text(option, value);
  put({option, 0, 0, {std::string(value)}, value.size()});
}

void OptionSet::add_string(std::string_view key, std::string_view value) {
  const tenon_option_info option = find_option(key);
  check_type(option, TENON_OPTION_STRING_LIST);
  Entry* present = find(key);
  if (present == nullptr) return set_string(key, value);
  check_limits(option, present->texts.size(), present->text_bytes, value.size());
  check_text(option, value);
  present->texts.emplace_back(value);
  present->text_bytes += value.size();
}

void OptionSet::parse(std::string_view key, std::string_view text) {
  const tenon_option_info option = find_option(key);
  switch (option.type) {
    case TENON_OPTION_INT:
      if (key == "seed" && text == "random") return set_int(key, kRandomSeed);
      return set_int(key, parse_number<int64_t>(option, text));
    case TENON_OPTION_FLOAT:
      return set_float(key, parse_number<double>(option, text));
    case TENON_OPTION_BOOL:
      return set_bool(key, parse_boolean(option, text));
    case TENON_OPTION_STRING:
      return set_string(key, text);
    default:
      return add_string(key, text);
  }
}

int64_t OptionSet::integer(std::string_view key) const {
  const Entry* entry = find(key);
  return entry != nullptr ? entry->integer : find_option(key).int_default;
}

double OptionSet::real(std::string_view key) const {
  const Entry* entry = find(key);
  return entry != nullptr ? entry->real : find_option(key).float_default;
}

std::string OptionSet::string(std::string_view key) const {
  const Entry* entry = find(key);
  return entry != nullptr ? entry->texts.front() : find_option(key).string_default;
}

std::vector<std::string> OptionSet::strings(std::string_view key) const {
  const Entry* entry = find(key);
  return entry != nullptr ? entry->texts : std::vector<std::string>{};
}

}  // namespace tenon::capi
