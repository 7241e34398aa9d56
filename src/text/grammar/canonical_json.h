// Canonical JSON as the grammars of schemas generate it: the same values without needless white
// space, escapes, exponents and fractions of zeros; members keep their order (unlike RFC 8785). Whether it is a
// document at all is the grammar's to say.
//
//   { "a" : [1e2, "\u0041"] }   becomes   {"a":[100,"A"]}
#pragma once

#include <functional>
#include <string_view>

namespace tenon::grammar {

/// Hands on the text in pieces until `sink` returns false; then false. What is no JSON goes on as
/// it is. Numbers with an exponent beyond kMaxExponent do, too.
bool canonical_json(std::string_view text, const std::function<bool(std::string_view)>& sink);
inline constexpr int kMaxExponent = 2000;

/// Whether an object of the document has a name twice.
bool repeats_a_name(std::string_view text);

}  // namespace tenon::grammar
