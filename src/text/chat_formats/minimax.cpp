// MiniMax M2:
//   <minimax:tool_call>\n<invoke name="f">\n<parameter name="key">value</parameter>\n</invoke>\n
//   </minimax:tool_call>
// MiniMax M1, with one JSON object per line:
//   <tool_calls>\n{"name": "f", "arguments": {...}}\n</tool_calls>
#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/json_calls.h"
#include "text/chat_formats/tagged_calls.h"

namespace tenon {

extern constexpr ChatFormat kMiniMaxM2Format{
    .name = "minimax-m2",
    .detected_by = {{{"<minimax:tool_call>"}, {"minimax:tool_call", "<invoke name="}}},
    .call_openers = {"<minimax:tool_call>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<TaggedCalls>(
          TaggedCallLayout{.call_open = "<invoke name=\"",
                           .name_end = "\">",
                           .key_open = "<parameter name=\"",
                           .key_close = "\">",
                           .value_close = "</parameter>",
                           .call_close = "</invoke>",
                           .section_close = "</minimax:tool_call>"});
    },
    .shapes = {{{.call = "<invoke name=\"$name\">\n$parameters</invoke>\n",
                 .trigger = "<minimax:tool_call>",
                 .open = "<minimax:tool_call>\n",
                 .close = "</minimax:tool_call>",
                 .parameter = "<parameter name=\"$key\">$value</parameter>\n"}}},
};

extern constexpr ChatFormat kMiniMaxM1Format{
    .name = "minimax-m1",
    .detected_by = {{{"<tool_calls>", "</tool_calls>", "<beginning_of_sentence>"}}},
    .call_openers = {"<tool_calls>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<JsonCalls>(
          JsonCallLayout{.close = "</tool_calls>", .must_close = true});
    },
    .shapes = {{{.call = "{\"name\": \"$name\", \"arguments\": $arguments}",
                 .trigger = "<tool_calls>",
                 .open = "<tool_calls>\n",
                 .separator = "\n",
                 .close = "\n</tool_calls>"}}},
};

}  // namespace tenon
