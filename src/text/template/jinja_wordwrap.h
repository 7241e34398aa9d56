// Line breaking of Python's textwrap.wrap for Jinja2's filter `wordwrap`.
#pragma once

#include <cstdint>
#include <vector>

#include "text/template/jinja_budget.h"
#include "text/template/jinja_text.h"

namespace tenon::jinja {

struct WrapStyle {
  uint64_t width = 79;  ///< in characters, > 0
  bool breaks_words = true;
  bool breaks_hyphens = true;
};

/// Breaks one line into lines; none for an empty line.
std::vector<Text> wrapped(const Text& line, const WrapStyle& style, Budget& budget);

}  // namespace tenon::jinja
