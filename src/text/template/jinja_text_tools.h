// What the string methods and the string filters share; every result keeps the marks of its bytes.
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

/// What a message shows of a text or a name: its beginning.
inline std::string_view shown(std::string_view text) { return utf8_prefix(text, 100); }
/// Where `what` stands first at or after `from`, or last before `end`; npos: nowhere. What has to
/// be compared counts, so that no text takes the product of the lengths.
size_t find_text(std::string_view text, std::string_view what, size_t from, Budget& budget);
size_t rfind_text(std::string_view text, std::string_view what, Budget& budget);
/// Without white space at the ends, or without the characters of `chars` (None: white space).
Text stripped(const Text& text, const Value& chars, bool left, bool right, Budget& budget);
/// `count` replacements at most; negative: all.
Text replaced(const Text& text, const Text& from, const Text& to, int64_t count, Budget& budget);
/// What `append` writes for each character; it is told whether a letter stands before it.
Text mapped(const Text& text, Budget& budget,
            const std::function<void(uint32_t code, bool after_letter, std::string& out)>& append);
Text upper(const Text& text, Budget& budget);
Text lower(const Text& text, Budget& budget);
/// The first character title case, the others lower case.
Text capitalized(const Text& text, Budget& budget);
/// Calls visit(line) for each line.
void for_each_line(const Text& text, bool keep_ends, Budget& budget,
                   const std::function<void(Text line)>& visit);
/// In the middle of `width` characters: `left` of the fill before it, the others after.
enum class Align : uint8_t { Left, Right, Center };
Text padded(const Text& text, int64_t width, Align align, const Text& fill, Budget& budget);
/// An argument that must be a string. Throws Failure naming the type.
const Text& text_of(const Value& value);

}  // namespace tenon::jinja
