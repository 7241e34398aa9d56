// Command-line flags generated from the library's list of options, so that a new option needs no
// change in the program.
#pragma once

#include <CLI/CLI.hpp>
#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tenon/tenon.hpp>
#include <vector>

namespace tenon_program {

/// Description of an option with its default and range. The name must be in the list.
std::string option_doc(std::string_view name);
tenon_option_info find_option(std::string_view name);

/// Flags of one scope: `top_k` becomes --top-k. Must outlive the application's run.
class OptionFlags {
 public:
  /// scope: TENON_SCOPE_*. without: keys that the command does not offer.
  void add(CLI::App& app, int32_t scope, const char* group,
           std::initializer_list<std::string_view> without = {});

  /// Keys and texts that the user gave, in the form that option structs take.
  [[nodiscard]] tenon::ExtraOptions values() const;

 private:
  struct Flag {
    std::string key;
    std::vector<std::string> texts{};
    bool is_set = false;  ///< true if a flag without a value is given; it sets `value`:
    std::string value{};
  };
  std::deque<Flag> flags_;  // deque, since CLI11 keeps references
};

}  // namespace tenon_program
