// Named sets of characters in patterns: \p{Lu}, \p{Han}, \s, [:alpha:].
#pragma once

#include <optional>
#include <string_view>

#include "text/unicode/char_set.h"

namespace tenon {

/// The set of \p{name}: a general category ("L", "Lu", "Letter"), a script used in published
/// patterns ("Han"), or a POSIX bracket name ("alpha"). Ignores case, spaces, '-' and '_'.
std::optional<CharSet> property_set(std::string_view name);
/// The set of [:name:], as in Oniguruma: punct includes symbols.
std::optional<CharSet> bracket_set(std::string_view name);

CharSet digit_set();  ///< \d: category Nd
CharSet space_set();  ///< \s: White_Space
CharSet word_set();   ///< \w: letters, marks, decimal digits, connectors
/// \w outside brackets, and the words of \b: word_set() and ² ³ ¹ ¼ ½ ¾ (Oniguruma).
CharSet bare_word_set();
/// \w of Unicode's UTS 18: word_set() and characters that join letters.
CharSet token_word_set();
CharSet newline_set();  ///< U+000A, which ends lines for . and for anchors

}  // namespace tenon
