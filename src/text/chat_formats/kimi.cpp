// Kimi K2:
//   <|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{...}
//   <|tool_call_end|><|tool_calls_section_end|>
// Kimi K3:
//   <|open|>think<|sep|>...<|close|>think<|sep|><|open|>response<|sep|>...<|close|>response<|sep|>
//   <|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|>
//   <|open|>argument key="key" type="string"<|sep|>value<|close|>argument<|sep|>
//   <|close|>call<|sep|><|close|>tools<|sep|>
// K3's arguments may also be a single object:
//   <|open|>json type="object"<|sep|>{...}<|close|>json<|sep|>
#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/named_calls.h"
#include "text/chat_formats/tagged_calls.h"

namespace tenon {
namespace {

/// Id of a call of f: "functions.f:0".
CallName split_kimi_name(std::string_view raw) {
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
                          .split_name = split_kimi_name});
    },
    .shapes = {{{.call = "<|tool_call_begin|>functions.$name:$number<|tool_call_argument_begin|>"
                         "$arguments<|tool_call_end|>",
                 .trigger = "<|tool_calls_section_begin|>",
                 .open = "<|tool_calls_section_begin|>",
                 .close = "<|tool_calls_section_end|>"}}},
};

extern constexpr ChatFormat kKimiK3Format{
    .name = "kimi-k3",
    .detected_by = {{{"<|open|>", "<|close|>", "<|end_of_msg|>"}}},
    .think = {"<|open|>think<|sep|>", "<|close|>think<|sep|>"},
    .call_openers = {"<|open|>tools<|sep|>"},
    .dropped = {"<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>",
                "<|end_of_msg|>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<TaggedCalls>(
          TaggedCallLayout{.call_open = "<|open|>call tool=\"",
                           .name_end = "<|sep|>",
                           .key_open = "<|open|>argument key=\"",
                           .key_close = "<|sep|>",
                           .value_close = "<|close|>argument<|sep|>",
                           .call_close = "<|close|>call<|sep|>",
                           .section_close = "<|close|>tools<|sep|>",
                           .attributes = true,
                           .string_attribute = "type=\"string\"",
                           .whole_open = "<|open|>json",
                           .whole_close = "<|close|>json<|sep|>"});
    },
    .shapes = {{{.call = "<|open|>call tool=\"$name\" index=\"$number\"<|sep|>$parameters"
                         "<|close|>call<|sep|>",
                 .trigger = "<|open|>tools<|sep|>",
                 .open = "<|open|>response<|sep|><|close|>response<|sep|><|open|>tools<|sep|>",
                 .close = "<|close|>tools<|sep|>",
                 .parameter = "<|open|>argument key=\"$key\" type=\"$kind\"<|sep|>$value"
                              "<|close|>argument<|sep|>"}}},
    .content_open = "<|open|>response<|sep|>",
};

}  // namespace tenon
