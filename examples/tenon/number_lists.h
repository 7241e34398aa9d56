// Strict parsing of whole numbers and comma-separated lists: no empty part, no trailing text, no
// saturation.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon_program {

/// Error message for `text` as a number in least..most; empty if valid.
inline std::string number_fault(std::string_view text, uint64_t least, uint64_t most,
                                uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most) {
    return "";
  }
  return "\"" + std::string(text) + "\" is no whole number of " + std::to_string(least) + ".." +
         std::to_string(most);
}

/// Validator of a flag with a single number.
inline CLI::Validator whole_number(uint64_t least, uint64_t most) {
  return CLI::Validator(
      [=](const std::string& text) {
        uint64_t ignored = 0;
        return number_fault(text, least, most, ignored);
      },
      std::to_string(least) + ".." + std::to_string(most));
}

/// Parts between the commas; may be empty.
inline std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t end = list.find(',');
    parts.emplace_back(list.substr(0, end));
    if (end == std::string_view::npos) return parts;
    list.remove_prefix(end + 1);
  }
}

/// Adds a flag with a list, which may be repeated; take() gets all parts of all occurrences.
inline void add_list(CLI::App& app, const char* flag, const std::string& type,
                     const std::string& doc,
                     const std::function<void(const std::vector<std::string>& parts)>& take) {
  app.add_option_function<std::vector<std::string>>(
         flag,
         [flag, take](const std::vector<std::string>& lists) {
           std::vector<std::string> parts;
           for (const std::string& list : lists) {
             for (std::string& part : parts_of(list)) {
               if (part.empty()) throw CLI::ValidationError(flag, "the list has an empty part");
               parts.push_back(std::move(part));
             }
           }
           take(parts);
         },
         doc)
      ->type_name(type)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace tenon_program
