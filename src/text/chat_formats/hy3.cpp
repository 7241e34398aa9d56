// Hunyuan 3, whose marks all have the suffix ":opensource":
//   <think:opensource>...</think:opensource>text<tool_calls:opensource>
//   <tool_call:opensource>f<tool_sep:opensource>
//   <arg_key:opensource>key</arg_key:opensource>
//   <arg_value:opensource>value</arg_value:opensource>
//   </tool_call:opensource>
//   </tool_calls:opensource>
#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/tagged_calls.h"

namespace tenon {

extern constexpr ChatFormat kHy3Format{
    .name = "hy3",
    .detected_by = {{{"<tool_sep{}>", ":opensource"}, {"<tool_sep:opensource>"}}},
    .think = {"<think:opensource>", "</think:opensource>"},
    .call_openers = {"<tool_calls:opensource>", "<tool_call:opensource>"},
    .dropped = {"</tool_calls:opensource>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<TaggedCalls>(
          TaggedCallLayout{.call_open = "<tool_call:opensource>",
                           .name_end = "<tool_sep:opensource>",
                           .key_open = "<arg_key:opensource>",
                           .key_close = "</arg_key:opensource>",
                           .value_open = "<arg_value:opensource>",
                           .value_close = "</arg_value:opensource>",
                           .call_close = "</tool_call:opensource>",
                           .section_close = "</tool_calls:opensource>"},
          1);
    },
    .shapes = {{{.call = "<tool_call:opensource>$name<tool_sep:opensource>\n$parameters"
                         "</tool_call:opensource>\n",
                 .trigger = "<tool_calls:opensource>",
                 .open = "<tool_calls:opensource>\n",
                 .close = "</tool_calls:opensource>",
                 .parameter = "<arg_key:opensource>$key</arg_key:opensource>\n"
                              "<arg_value:opensource>$value</arg_value:opensource>\n"}}},
};

}  // namespace tenon
