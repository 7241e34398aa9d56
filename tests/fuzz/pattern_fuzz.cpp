// Any bytes as a regular expression and a text: compiling and searching may throw Error and nothing
// else, and backtracking must find what the table finds. The first line is the expression.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/regex/pattern_search.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {
namespace {

std::vector<size_t> matches(const Pattern& pattern, std::string_view text, bool by_table) {
  PatternSearch search(pattern);
  search.always_use_table(by_table);
  search.begin(text);
  std::vector<size_t> ends;
  size_t at = 0;
  for (PatternMatch match; search.next(match);) {
    if (match.begin < at || match.end < match.begin || match.end > text.size()) __builtin_trap();
    at = match.end;
    ends.push_back(match.begin);
    ends.push_back(match.end);
  }
  return ends;
}

void run(std::string_view input) {
  const size_t line = std::min(input.find('\n'), input.size());
  const Pattern pattern(input.substr(0, line));
  std::string text;
  utf8_append_repaired(input.substr(std::min(line + 1, input.size())), text);
  // The table takes steps times bytes.
  if (text.size() > 512) return;
  if (matches(pattern, text, false) != matches(pattern, text, true)) __builtin_trap();
}

}  // namespace
}  // namespace tenon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    tenon::run({reinterpret_cast<const char*>(data), size});
  } catch (const tenon::Error&) {
  }
  return 0;
}
