// Markup: strings that the filters `safe` and `escape` call HTML. Nothing is escaped when it is
// written out, but what is joined to markup by an operator or a method is.
#pragma once

#include "text/template/jinja_builtins.h"

namespace tenon::jinja {

/// The text with &, <, >, ' and " as entities.
Text escaped(const Text& text, Budget& budget);
/// The text of a value, escaped unless it is markup.
Text markup_text(const Value& value, Budget& budget);
/// A string, which is markup when `from` is.
Value like(const Value& from, Text text, Budget& budget);
/// a + b of two strings.
Value joined(const Value& a, const Value& b, Budget& budget);
/// format % values, where format is a string.
Value formatted(const Value& format, const Value& values, Budget& budget);

/// What a filter or a method gives. Those that only change letters, cut or fill make markup of
/// markup.
Value run_filter(Interpreter& jinja, const Builtin& filter, const Value& self, CallArguments given);
Value run_method(Interpreter& jinja, const Builtin& method, const Value& self, CallArguments given);

}  // namespace tenon::jinja
