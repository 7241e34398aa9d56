// The names under which patterns know sets of characters: \p{Lu}, \p{Han}, \s, [:alpha:].
#pragma once

#include <optional>
#include <string_view>

#include "text/unicode/char_set.h"

namespace tenon {

/// The set of a property as \p{name} names it: a general category ("L", "Lu", "Letter"), a script
/// in use in published patterns ("Han"), or one of the names of POSIX brackets ("alpha"). Case,
/// spaces, '-' and '_' do not count.
std::optional<CharSet> property_set(std::string_view name);
/// The set of [:name:]. As Oniguruma has it: punct has symbols, too.
std::optional<CharSet> bracket_set(std::string_view name);

CharSet digit_set();  ///< \d: category Nd
CharSet space_set();  ///< \s: White_Space
CharSet word_set();   ///< \w: letters, marks, decimal digits, connectors
/// \w outside brackets, and what \b tells words by: word_set(), and ² ³ ¹ ¼ ½ ¾ (Oniguruma).
CharSet bare_word_set();
/// \w as Unicode's UTS 18 has it: word_set() and what joins letters.
CharSet token_word_set();
CharSet newline_set();  ///< what . and line anchors stop at: U+000A

}  // namespace tenon
