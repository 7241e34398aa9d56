// Markup: strings that the filters `safe` and `escape` declare as HTML. Output is never escaped,
// but operators and methods escape text that they join to markup.
#pragma once

#include "text/template/jinja_builtins.h"

namespace tenon::jinja {

/// Replaces &, <, >, ' and " by entities.
Text escaped(const Text& text, Budget& budget);
/// Text of a value, escaped unless it is markup.
Text markup_text(const Value& value, Budget& budget);
/// Makes a string, which is markup if `from` is.
Value like(const Value& from, Text text, Budget& budget);
/// a + b of two strings.
Value joined(const Value& a, const Value& b, Budget& budget);
/// format % values, where format is a string.
Value formatted(const Value& format, const Value& values, Budget& budget);

/// Runs a filter or a method. The result is markup if the input is and the function only changes
/// letters, cuts or fills.
Value run_filter(Interpreter& jinja, const Builtin& filter, const Value& self, CallArguments given);
Value run_method(Interpreter& jinja, const Builtin& method, const Value& self, CallArguments given);

}  // namespace tenon::jinja
