// Mistral, first the older and then the newer version:
//   [TOOL_CALLS][{"name": "f", "arguments": {...}, "id": "..."}]
//   [TOOL_CALLS]f[CALL_ID]123456789[ARGS]{...}
// Magistral and Ministral reason first: [THINK]...[/THINK]
#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/named_calls.h"

namespace tenon {

extern constexpr ChatFormat kMistralFormat{
    .name = "mistral",
    .detected_by = {{{"[TOOL_CALLS]"}, {"[INST]", "[AVAILABLE_TOOLS]"}, {"[THINK]", "[/THINK]"}}},
    .think = {"[THINK]", "[/THINK]"},
    .call_openers = {"[TOOL_CALLS]"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<NamedCalls>(NamedCallLayout{.name_end = "[ARGS]",
                                                          .id_open = "[CALL_ID]",
                                                          .next_call = "[TOOL_CALLS]",
                                                          .or_json = true});
    },
    .ids_of_nine = true,
    .shapes = {{{.call = "[TOOL_CALLS]$name[CALL_ID]$id[ARGS]$arguments",
                 .trigger = "[TOOL_CALLS]",
                 .when = "[CALL_ID]"},
                {.call = "[TOOL_CALLS]$name[ARGS]$arguments",
                 .trigger = "[TOOL_CALLS]",
                 .when = "[ARGS]"},
                {.call = "{\"name\": \"$name\", \"arguments\": $arguments, \"id\": \"$id\"}",
                 .trigger = "[TOOL_CALLS]",
                 .open = "[TOOL_CALLS][",
                 .separator = ", ",
                 .close = "]"}}},
};

}  // namespace tenon
