// Families that write a JSON list of calls between marks of their own.
//   Apertus         <|tools_prefix|>[{"f": {...}}]<|tools_suffix|>
//   Command R7B, A  <|START_ACTION|>[{"tool_call_id": "0", "tool_name": "f", "parameters": {...}}]
//                   <|END_ACTION|>
//   Command R+      Action: ```json\n[{"tool_name": "f", "parameters": {...}}]\n```
//   Nemotron Nano   <TOOLCALL>[{"name": "f", "arguments": {...}}]</TOOLCALL>
//   Phi 4           <|tool_call|>[{"name": "f", "arguments": {...}}]<|/tool_call|>
//   Firefunction    functools[{"name": "f", "arguments": {...}}]
//   Apriel, Hunyuan <tool_calls>[{"name": "f", "arguments": {...}}]</tool_calls>
//   GigaChat        <|function_call|>{"name": "f", "arguments": {...}}
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

extern constexpr ChatFormat kCommandPlusFormat{
    .name = "command-r-plus",
    .detected_by = {{{"Action:", "\"tool_name\"", "<|CHATBOT_TOKEN|>"}}},
    .think = {},
    .call_openers = {"Action:\n```json", "Action: ```json"},
    .dropped = {"<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<JsonCalls>(JsonCallLayout{.close = "```", .must_close = true});
    },
    .shapes = {{{.call = "    {\n        \"tool_name\": \"$name\",\n        \"parameters\": "
                         "$arguments\n    }",
                 .trigger = "Action: ```json",
                 .open = "Action: ```json\n[\n",
                 .separator = ",\n",
                 .close = "\n]\n```"}}},
};

extern constexpr ChatFormat kPhi4Format{
    .name = "phi-4",
    .detected_by = {{{"<|tool|>", "<|/tool|>"}, {"<|/tool_call|>"}}},
    .call_openers = {"<|tool_call|>", "functools"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<JsonCalls>(JsonCallLayout{.close = "<|/tool_call|>"});
    },
    .shapes = {{{.call = "{\"name\": \"$name\", \"arguments\": $arguments}",
                 .trigger = "<|tool_call|>",
                 .open = "<|tool_call|>[",
                 .separator = ", ",
                 .close = "]<|/tool_call|>"}}},
};

extern constexpr ChatFormat kFirefunctionFormat{
    .name = "firefunction",
    .detected_by = {{{"functools["}}},
    .think = {},
    .call_openers = {"functools"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<JsonCalls>(JsonCallLayout{});
    },
    .shapes = {{{.call = "{\"name\": \"$name\", \"arguments\": $arguments}",
                 .trigger = "functools[",
                 .open = "functools[",
                 .separator = ", ",
                 .close = "]"}}},
};

extern constexpr ChatFormat kAprielFormat{
    .name = "apriel",
    .detected_by = {{{"<tool_calls>[", "</tool_calls>"}}},
    .think = {"Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"},
    .call_openers = {"<tool_calls>"},
    .dropped = {"[END FINAL RESPONSE]"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<JsonCalls>(
          JsonCallLayout{.close = "</tool_calls>", .must_close = true});
    },
    .shapes = {{{.call = "{\"name\": \"$name\", \"arguments\": $arguments}",
                 .trigger = "<tool_calls>",
                 .open = "<tool_calls>[",
                 .separator = ", ",
                 .close = "]</tool_calls>"}}},
};

extern constexpr ChatFormat kHunyuanFormat{
    .name = "hunyuan",
    .detected_by = {{{"<tool_calls>", "</tool_calls>"}, {"<answer>", "</answer>", "<think>"}}},
    .call_openers = {"<tool_calls>"},
    .dropped = {"<answer>\n", "\n</answer>", "<answer>", "</answer>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<JsonCalls>(
          JsonCallLayout{.close = "</tool_calls>", .must_close = true});
    },
    .shapes = {{{.call = "{\"name\": \"$name\", \"arguments\": $arguments}",
                 .trigger = "<tool_calls>",
                 .open = "<tool_calls>[",
                 .separator = ", ",
                 .close = "]</tool_calls>"}}},
};

extern constexpr ChatFormat kGigaChatFormat{
    .name = "gigachat",
    .detected_by = {{{"<|function_call|>"}, {"function call", "<|role_sep|>"}}},
    .think = {},
    .call_openers = {"<|function_call|>", "<|message_sep|>\n\nfunction call<|role_sep|>",
                     "function call<|role_sep|>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<JsonCalls>(JsonCallLayout{});
    },
    .shapes = {{{.call = "<|function_call|>{\"name\": \"$name\", \"arguments\": $arguments}",
                 .trigger = "<|function_call|>",
                 .when = "<|function_call|>",
                 .single = true},
                {.call = "function call<|role_sep|>\n{\"name\": \"$name\", \"arguments\": "
                         "$arguments}",
                 .trigger = "function call<|role_sep|>",
                 .single = true}}},
};

}  // namespace tenon
