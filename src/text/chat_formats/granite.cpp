// Granite 3: <|tool_call|>[{"name": "f", "arguments": {...}}]; version 4 uses the Hermes format.
#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/json_calls.h"

namespace tenon {

extern constexpr ChatFormat kGranite3Format{
    .name = "granite-3",
    .detected_by = {{{"<|start_of_role|>", "<|tool_call|>"}, {"<|tool_call|>"}}},
    .call_openers = {"<|tool_call|>", "<tool_call>"},
    .dropped = {"<response>", "</response>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<JsonCalls>(JsonCallLayout{});
    },
    .shapes = {{{.call = "{\"name\": \"$name\", \"arguments\": $arguments}",
                 .trigger = "<|tool_call|>",
                 .open = "<|tool_call|>[",
                 .separator = ", ",
                 .close = "]"}}},
};

}  // namespace tenon
