// Converts JSON to the form that schemas' grammars generate: equal values without needless white
// space, escapes, exponents and zero fractions. Members keep their order (unlike RFC 8785). The
// grammar decides whether the text is a document.
//
//   { "a" : [1e2, "\u0041"] }   becomes   {"a":[100,"A"]}
#pragma once

#include <functional>
#include <string_view>

namespace tenon::grammar {

/// Passes the text on in pieces; false as soon as `sink` returns false. Text that is no JSON passes
/// unchanged, as do numbers with an exponent beyond kMaxExponent.
bool canonical_json(std::string_view text, const std::function<bool(std::string_view)>& sink);
inline constexpr int kMaxExponent = 2000;

/// True if an object of the document has a duplicate name.
bool repeats_a_name(std::string_view text);

}  // namespace tenon::grammar
