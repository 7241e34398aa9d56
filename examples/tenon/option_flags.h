// Command-line flags made from the library's list of options, so that a new option needs no change
// here.
#pragma once

#include <CLI/CLI.hpp>
#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tenon/tenon.hpp>
#include <vector>

namespace tenon_program {

/// Says what the option is for, its default, and what it takes. The name must be one of the list.
std::string option_doc(std::string_view name);
tenon_option_info find_option(std::string_view name);

/// The flags of one scope: `top_k` becomes --top-k. Must live until the application has run.
class OptionFlags {
 public:
  /// scope: TENON_SCOPE_*. without: keys that the command does not offer.
  void add(CLI::App& app, int32_t scope, const char* group,
           std::initializer_list<std::string_view> without = {});

  /// The keys and texts that the user gave, in the form that the option structs take.
  [[nodiscard]] tenon::ExtraOptions values() const;

 private:
  struct Flag {
    std::string key;
    std::vector<std::string> texts{};
    bool is_set = false;  ///< of a flag without a value, which stands for this one:
    std::string value{};
  };
  std::deque<Flag> flags_;  // CLI11 keeps references
};

}  // namespace tenon_program
