// Any bytes as a chat template and the conversation after it: parsing and running may throw Error
// and nothing else, and stay within small limits. The input: a template, a line "===", JSON.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "text/template/chat_template.h"
#include "text/template/json_values.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = input.find("\n===\n");
  try {
    const ChatTemplate chat(std::string(input.substr(0, cut)), "fuzz");
    ChatTemplate::Variables variables;
    if (cut != input.npos) {
      const jinja::Value given = jinja::value_from_json(input.substr(cut + 5), "fuzz");
      if (given.is(jinja::Kind::Dict)) {
        for (const auto& [key, value] : given.entries().entries) {
          variables.emplace(key.text().bytes(), value);
        }
      }
    }
    jinja::Limits limits;
    limits.steps = 200'000;
    limits.output_bytes = size_t{1} << 20;
    limits.memory_bytes = size_t{4} << 20;
    limits.depth = 200;  // frames are larger with the sanitizers
    const jinja::Text text = chat.render(variables, limits, jinja::CalendarTime{.year = 2026});
    size_t covered = 0;
    for (const jinja::Text::Span& span : text.spans()) {
      if (span.begin != covered || span.end <= span.begin) __builtin_trap();
      covered = span.end;
    }
    if (covered != text.size()) __builtin_trap();
  } catch (const Error&) {
  }
  return 0;
}
