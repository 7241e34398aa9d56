// Flags of other programs: aliases for those that Tenon has, hints for the others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon_program {

/// Aliases of the library's option `key`, in CLI11's form (",-c,--ctx-size"); "" if none.
std::string further_names(std::string_view key);

/// Rewrites words such as -ngl, which are not grouped letters, as --ngl. Leaves everything after
/// `--` unchanged.
std::vector<std::string> with_long_dashes(std::vector<std::string> arguments);

/// Advice about another program's flag that Tenon lacks; "" if unknown.
std::string_view hint_of_flag(std::string_view flag);
/// Advice about another program's command; "" if unknown.
std::string_view hint_of_command(std::string_view command);

/// Name in `names` nearest to `given`; "" if none is near. Allows about one changed, added, removed
/// or swapped letter in three.
std::string nearest(std::string_view given, const std::vector<std::string>& names);

}  // namespace tenon_program
