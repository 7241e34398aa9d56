// MiniCPM 5; values that contain marks are in CDATA:
//   <function name="f"><param name="key">value</param><param name="k"><![CDATA[a<b]]></param>
//   </function>
#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/tagged_calls.h"

namespace tenon {

extern constexpr ChatFormat kMiniCpm5Format{
    .name = "minicpm-5",
    .detected_by = {{{"<function name=\"", "<param name=\""}}},
    .call_openers = {"<function name=\""},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<TaggedCalls>(TaggedCallLayout{.name_end = "\">",
                                                            .key_open = "<param name=\"",
                                                            .key_close = "\">",
                                                            .value_close = "</param>",
                                                            .call_close = "</function>",
                                                            .cdata = true});
    },
    .shapes = {{{.call = "<function name=\"$name\">$parameters</function>",
                 .trigger = "<function name=\"",
                 .separator = "\n",
                 .parameter = "<param name=\"$key\">$value</param>"}}},
};

}  // namespace tenon
