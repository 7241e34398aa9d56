// Spellings of flags that users of other programs know: what works under another name, and what is
// hinted at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon_program {

/// Further names of the library's option `key` as CLI11 takes them (",-c,--ctx-size"); "" if none.
std::string further_names(std::string_view key);

/// The arguments with words such as -ngl, which are no letters in a row, as --ngl. What follows `--`
/// stays as it is.
std::vector<std::string> with_long_dashes(std::vector<std::string> arguments);

/// What to do instead of a flag that another program has and this one has not; "" if unknown.
std::string_view hint_of_flag(std::string_view flag);
/// The same of a command.
std::string_view hint_of_command(std::string_view command);

/// The one of `names` that `given` is most likely meant to be; "" where none is near. Equal letters
/// in another order, a letter more, less or other are near: about one for every three.
std::string nearest(std::string_view given, const std::vector<std::string>& names);

}  // namespace tenon_program
