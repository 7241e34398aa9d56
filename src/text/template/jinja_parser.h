// Parses tokens into a syntax tree by the grammar of Jinja2 3.1 with loop controls and generation
// blocks.
#pragma once

#include <string_view>

#include "text/template/jinja_syntax.h"

namespace tenon::jinja {

/// Limits of the source, and of nested tags and brackets.
inline constexpr size_t kMaxSourceBytes = size_t{1} << 20;
inline constexpr uint32_t kMaxSyntaxDepth = 100;

/// Parses `source`, well-formed UTF-8. Throws Template naming the line.
Syntax parse(std::string_view source);

}  // namespace tenon::jinja
