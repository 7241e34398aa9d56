// Lines broken at a width, as Python's textwrap.wrap does it for Jinja2's filter `wordwrap`.
#pragma once

#include <cstdint>
#include <vector>

#include "text/template/jinja_budget.h"
#include "text/template/jinja_text.h"

namespace tenon::jinja {

struct WrapStyle {
  uint64_t width = 79;  ///< in characters; > 0
  bool breaks_words = true;
  bool breaks_hyphens = true;
};

/// The lines that one line becomes; none for an empty one.
std::vector<Text> wrapped(const Text& line, const WrapStyle& style, Budget& budget);

}  // namespace tenon::jinja
