// Solar Open:
//   <|think|>reasoning<|end|><|begin|>assistant<|content|>text<|end|>
//   <|begin|>assistant<|tool_calls|><|tool_call:begin|>id<|tool_call:name|>f<|tool_call:args|>{...}
//   <|tool_call:end|><|calls|>
#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/named_calls.h"

namespace tenon {
namespace {

constexpr std::string_view kName = "<|tool_call:name|>";

CallName split_name(std::string_view raw) {
  const size_t at = raw.find(kName);
  if (at == raw.npos) return {std::string(raw), ""};
  return {std::string(trimmed(raw.substr(at + kName.size()))),
          std::string(trimmed(raw.substr(0, at)))};
}

}  // namespace

extern constexpr ChatFormat kSolarFormat{
    .name = "solar-open",
    .detected_by = {{{"<|tool_call:begin|>", "<|tool_call:args|>"}}},
    .think = {"<|think|>", "<|end|><|begin|>assistant"},
    .call_openers = {"<|tool_calls|>", "<|tool_call:begin|>"},
    .dropped = {"<|content|>", "<|end|>", "<|begin|>assistant", "<|calls|>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<NamedCalls>(NamedCallLayout{.call_open = "<|tool_call:begin|>",
                                                          .name_end = "<|tool_call:args|>",
                                                          .call_close = "<|tool_call:end|>",
                                                          .section_close = "<|calls|>",
                                                          .late_opener = 1,
                                                          .split_name = split_name});
    },
    .shapes = {{{.call = "<|tool_call:begin|>$ten<|tool_call:name|>$name<|tool_call:args|>"
                         "$arguments<|tool_call:end|>",
                 .trigger = "<|tool_calls|>",
                 .open = "<|tool_calls|>",
                 .close = "<|calls|>"}}},
    .content_open = "<|content|>",
};

}  // namespace tenon
