// GLM 4.5 and later; from 4.7 on without the line breaks:
//   <tool_call>f\n<arg_key>key</arg_key>\n<arg_value>value</arg_value>\n</tool_call>
#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/tagged_calls.h"

namespace tenon {

extern constexpr ChatFormat kGlmFormat{
    .name = "glm",
    .detected_by = {{{"<tool_call>", "<arg_key>", "<arg_value>"}}},
    .call_openers = {"<tool_call>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<TaggedCalls>(TaggedCallLayout{.key_open = "<arg_key>",
                                                            .key_close = "</arg_key>",
                                                            .value_open = "<arg_value>",
                                                            .value_close = "</arg_value>",
                                                            .call_close = "</tool_call>"});
    },
    .shapes = {{{.call = "<tool_call>$name\n$parameters</tool_call>",
                 .trigger = "<tool_call>",
                 .separator = "\n",
                 .parameter = "<arg_key>$key</arg_key>\n<arg_value>$value</arg_value>\n"}}},
};

}  // namespace tenon
