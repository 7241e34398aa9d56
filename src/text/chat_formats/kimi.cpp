// Kimi K2:
//   <|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{...}
//   <|tool_call_end|><|tool_calls_section_end|>
#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/named_calls.h"

namespace tenon {
namespace {

/// "functions.f:0" is the id of a call of f.
CallName split_name(std::string_view raw) {
  std::string_view name = raw;
  if (name.starts_with("functions.")) name.remove_prefix(10);
  const size_t colon = name.rfind(':');
  const bool numbered = colon != name.npos && colon > 0 &&
                        name.find_first_not_of("0123456789", colon + 1) == name.npos;
  if (numbered) name = name.substr(0, colon);
  return {std::string(name), std::string(raw)};
}

}  // namespace

extern constexpr ChatFormat kKimiFormat{
    .name = "kimi-k2",
    .detected_by = {{{"<|tool_calls_section_begin|>"}}},
    .call_openers = {"<|tool_calls_section_begin|>", "<|tool_call_begin|>"},
    .calls_end_reasoning = true,
    .dropped = {"<|tool_calls_section_end|>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<NamedCalls>(
          NamedCallLayout{.call_open = "<|tool_call_begin|>",
                          .name_end = "<|tool_call_argument_begin|>",
                          .call_close = "<|tool_call_end|>",
                          .section_close = "<|tool_calls_section_end|>",
                          .late_opener = 1,
                          .split_name = split_name});
    },
    .shapes = {{{.call = "<|tool_call_begin|>functions.$name:$number<|tool_call_argument_begin|>"
                         "$arguments<|tool_call_end|>",
                 .trigger = "<|tool_calls_section_begin|>",
                 .open = "<|tool_calls_section_begin|>",
                 .close = "<|tool_calls_section_end|>"}}},
};

}  // namespace tenon
