// Families that put a JSON list of calls between marks of their own.
//   Apertus         <|tools_prefix|>[{"f": {...}}]<|tools_suffix|>
//   Command R7B, A  <|START_ACTION|>[{"tool_call_id": "0", "tool_name": "f", "parameters": {...}}]
//                   <|END_ACTION|>
//   Nemotron Nano   <TOOLCALL>[{"name": "f", "arguments": {...}}]</TOOLCALL>
#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/json_calls.h"

namespace tenon {

extern constexpr ChatFormat kApertusFormat{
    .name = "apertus",
    .detected_by = {{{"<|tools_prefix|>"}}},
    .think = {"<|inner_prefix|>", "<|inner_suffix|>"},
    .call_openers = {"<|tools_prefix|>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<JsonCalls>(
          JsonCallLayout{.close = "<|tools_suffix|>", .must_close = true, .key_is_name = true});
    },
    .shapes = {{{.call = "{\"$name\": $arguments}",
                 .trigger = "<|tools_prefix|>",
                 .open = "<|tools_prefix|>[",
                 .separator = ", ",
                 .close = "]<|tools_suffix|>"}}},
};

extern constexpr ChatFormat kCommandFormat{
    .name = "command-r",
    .detected_by = {{{"<|START_ACTION|>"}}},
    .think = {"<|START_THINKING|>", "<|END_THINKING|>"},
    .call_openers = {"<|START_ACTION|>"},
    .dropped = {"<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<JsonCalls>(
          JsonCallLayout{.close = "<|END_ACTION|>", .must_close = true});
    },
    .shapes = {{{.call = "{\"tool_call_id\": \"$number\", \"tool_name\": \"$name\", "
                         "\"parameters\": $arguments}",
                 .trigger = "<|START_ACTION|>",
                 .open = "<|START_ACTION|>[\n    ",
                 .separator = ",\n    ",
                 .close = "\n]<|END_ACTION|>"}}},
};

extern constexpr ChatFormat kNemotronFormat{
    .name = "nemotron",
    .detected_by = {{{"<TOOLCALL>"}}},
    .call_openers = {"<TOOLCALL>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<JsonCalls>(
          JsonCallLayout{.close = "</TOOLCALL>", .must_close = true});
    },
    .shapes = {{{.call = "{\"name\": \"$name\", \"arguments\": $arguments}",
                 .trigger = "<TOOLCALL>",
                 .open = "<TOOLCALL>[",
                 .separator = ", ",
                 .close = "]</TOOLCALL>"}}},
};

}  // namespace tenon
