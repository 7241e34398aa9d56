// Converts Lark grammars of custom tools to regular expressions. Refuses what a pattern cannot
// express: recursive rules, and a lexer's side effects.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace tenon_http {

/// Reason for refusing a grammar, with the line.
class LarkError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Pattern of the texts of `start`, without anchors (regular part of ECMA-262). A rule concatenates
/// its texts, so terminals may match in any way that fits, as with Lark's Earley parser:
///
///     start: begin line+                "*** Begin\n", then one or more "+...\n":
///     begin: "*** Begin" LF             (?:(?:\*\*\* Begin(?:\n))(?:(?:\+[^\n]*(?:\n)))+)
///     line: "+" /.*/ LF
///     %import common.LF
///
/// Supports rules, terminals, alternatives, groups, optional parts, ? * + and ~, strings with the
/// flag i, ranges, regular expressions with the flag s, aliases, priorities, %import of common
/// terminals. Throws LarkError for %ignore, templates, recursion, other directives, flags and
/// imports. Also throws for patterns over 256 KiB or with over 16 MiB of intermediate text. Polls
/// the thread's WorkLimit. Source: Lark's documentation, "Grammar Reference". Pinned by
/// lark_pattern_test.cpp.
std::string lark_pattern(std::string_view grammar);

}  // namespace tenon_http
