// Hermes, Qwen 2.5 and 3, Granite 4 and many later models:
//   <tool_call>\n{"name": "f", "arguments": {...}}\n</tool_call>
#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/json_calls.h"

namespace tenon {

extern constexpr ChatFormat kHermesFormat{
    .name = "hermes",
    .detected_by = {{{"<tool_call>"}}},
    .call_openers = {"<tool_call>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<JsonCalls>(
          JsonCallLayout{.close = "</tool_call>", .must_close = true});
    },
    .shapes = {{{.call = "<tool_call>\n{\"name\": \"$name\", \"arguments\": $arguments}\n"
                         "</tool_call>",
                 .trigger = "<tool_call>",
                 .separator = "\n"}}},
};

}  // namespace tenon
