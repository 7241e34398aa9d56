// Families that write calls in Python syntax.
//   LFM2     <|tool_call_start|>[f(key="value"), g()]<|tool_call_end|>
//   Olmo 3   <function_calls>\nf(key="value")\ng()\n</function_calls>
#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/python_calls.h"

namespace tenon {

extern constexpr ChatFormat kLfm2Format{
    .name = "lfm2",
    .detected_by = {{{"<|tool_call_start|>"}, {"List of tools: ", "<|im_start|>"}}},
    .call_openers = {"<|tool_call_start|>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<PythonCalls>(PythonCallLayout{.close = "<|tool_call_end|>"});
    },
    .shapes = {{{.call = "$name($parameters)",
                 .trigger = "<|tool_call_start|>",
                 .open = "<|tool_call_start|>[",
                 .separator = ", ",
                 .close = "]<|tool_call_end|>",
                 .parameter = "$key=$value",
                 .parameter_separator = ", ",
                 .json_strings = true}}},
};

extern constexpr ChatFormat kOlmo3Format{
    .name = "olmo-3",
    .detected_by = {{{"<function_calls>", "<|im_start|>"}}},
    .call_openers = {"<function_calls>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<PythonCalls>(
          PythonCallLayout{.close = "</function_calls>", .listed = false});
    },
    .shapes = {{{.call = "$name($parameters)",
                 .trigger = "<function_calls>",
                 .open = "<function_calls>",
                 .separator = "\n",
                 .close = "</function_calls>",
                 .parameter = "$key=$value",
                 .parameter_separator = ", ",
                 .json_strings = true}}},
};

}  // namespace tenon
