// Tokens to syntax tree, by the grammar of Jinja2 3.1 with loop controls and generation blocks.
#pragma once

#include <string_view>

#include "text/template/jinja_syntax.h"

namespace tenon::jinja {

/// The largest source, and how deep its tags and brackets may nest.
inline constexpr size_t kMaxSourceBytes = size_t{1} << 20;
inline constexpr uint32_t kMaxSyntaxDepth = 100;

/// Throws Error(Template) naming the line. `source` must be well-formed UTF-8.
Syntax parse(std::string_view source);

}  // namespace tenon::jinja
