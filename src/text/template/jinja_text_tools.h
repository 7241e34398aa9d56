// Shared by string methods and string filters; all results keep the flags of their bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/template/jinja_value.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::jinja {

/// Beginning of a text or a name, for messages.
inline std::string_view shown(std::string_view text) { return utf8_prefix(text, 100); }
/// Offset of the first `what` at or after `from`, or of the last; npos if there is none. Counts
/// comparisons, so no text takes the product of the lengths.
size_t find_text(std::string_view text, std::string_view what, size_t from, Budget& budget);
size_t rfind_text(std::string_view text, std::string_view what, Budget& budget);
/// Removes white space, or the characters of `chars` (None means white space), at the ends.
Text stripped(const Text& text, const Value& chars, bool left, bool right, Budget& budget);
/// Replaces at most `count` times; a negative count means all.
Text replaced(const Text& text, const Text& from, const Text& to, int64_t count, Budget& budget);
/// Concatenates the results of `append` per character; after_letter: the previous character is a
/// letter.
Text mapped(const Text& text, Budget& budget,
            const std::function<void(uint32_t code, bool after_letter, std::string& out)>& append);
Text upper(const Text& text, Budget& budget);
Text lower(const Text& text, Budget& budget);
/// The first character in title case, the others in lowercase.
Text capitalized(const Text& text, Budget& budget);
/// Calls visit(line) for each line.
void for_each_line(const Text& text, bool keep_ends, Budget& budget,
                   const std::function<void(Text line)>& visit);
/// Center puts `left` of the fill before the text, the rest after it.
enum class Align : uint8_t { Left, Right, Center };
Text padded(const Text& text, int64_t width, Align align, const Text& fill, Budget& budget);
/// An argument that must be a string. Throws Failure naming the type.
const Text& text_of(const Value& value);

}  // namespace tenon::jinja
