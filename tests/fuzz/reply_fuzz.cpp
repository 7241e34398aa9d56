// Any bytes as an answer: whatever the family and the pieces, the same message comes out, and the
// arguments of calls are JSON. The first byte chooses the family, the second where the text is cut.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "text/chat_formats/json_scan.h"
#include "text/chat_formats/reply_parser.h"

namespace {

std::string parsed(const tenon::ChatFormat& format, std::string_view text, size_t piece) {
  tenon::ToolTypes types;
  types.kinds["f"] = {{"s", tenon::kStringKind},
                      {"n", tenon::kIntegerKind},
                      {"m", tenon::kStringKind | tenon::kNullKind | tenon::kListKind}};
  tenon::ReplyParser parser(format, "", true, std::move(types));
  while (!text.empty()) {
    parser.push(text.substr(0, piece));
    text.remove_prefix(std::min(piece, text.size()));
  }
  parser.finish();
  std::string out = parser.message().reasoning + "\x01" + parser.message().content;
  for (const tenon::ReplyCall& call : parser.message().calls) {
    if (!tenon::is_json(call.arguments)) __builtin_trap();
    out += "\x01" + call.id + "\x02" + call.name + "\x02" + call.arguments;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto formats = tenon::chat_formats();
  const tenon::ChatFormat& format = *formats[data[0] % formats.size()];
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::string whole = parsed(format, text, size);
  if (parsed(format, text, 1) != whole) __builtin_trap();
  if (parsed(format, text, 2 + data[1]) != whole) __builtin_trap();
  return 0;
}
