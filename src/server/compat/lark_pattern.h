// Lark grammars of custom tools as regular expressions. What a pattern cannot say is refused: a rule
// that needs itself, and what a lexer does beside the grammar.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace tenon_http {

/// Why a grammar is not taken, with its line.
class LarkError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The texts of `start`, as a pattern without anchors (regular part of ECMA-262). A rule is its texts
/// one after another, so terminals may be read in any way that fits, as by Lark's Earley parser:
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
/// the thread's WorkLimit.
/// Source: Lark's documentation, "Grammar Reference". Pinned by lark_pattern_test.cpp.
std::string lark_pattern(std::string_view grammar);

}  // namespace tenon_http
