// Any bytes as a grammar (GBNF, Lark) and a text, divided by a line "---": compiling and matching may
// throw Error and nothing else.
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "text/grammar/grammar.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr std::string_view kDivider = "\n---\n";
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = input.find(kDivider);
  const std::string_view text =
      end == std::string_view::npos ? "" : input.substr(end + kDivider.size());
  for (const auto kind : {tenon::GrammarKind::Gbnf, tenon::GrammarKind::Lark}) {
    try {
      (void)tenon::Grammar::compile(kind, input.substr(0, end))->accepts(text);
    } catch (const tenon::Error&) {
    }
  }
  return 0;
}
