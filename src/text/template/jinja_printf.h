// Python's two string formats: "..." % values and "...".format(values).
#pragma once

#include <span>

#include "text/template/jinja_value.h"

namespace tenon::jinja {

class Interpreter;

/// format % values; values is a tuple, a dict or one value.
Text printf_text(const Text& format, const Value& values, Budget& budget);

/// format.format(*positional, **named).
Text format_text(Interpreter& jinja, const Text& format, std::span<const Value> positional,
                 const Value& named);

}  // namespace tenon::jinja
