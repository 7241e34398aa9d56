// Qwen3-Coder and models that adopted its format; models sometimes skip the outer tag:
//   <tool_call>\n<function=f>\n<parameter=key>\nvalue\n</parameter>\n</function>\n</tool_call>
#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/tagged_calls.h"

namespace tenon {
namespace {

constexpr TaggedCallLayout layout(std::string_view section_close, bool trims_lines) {
  return {.call_open = "<function=",
          .name_end = ">",
          .key_open = "<parameter=",
          .key_close = ">",
          .value_close = "</parameter>",
          .call_close = "</function>",
          .section_close = section_close,
          .trims_lines = trims_lines};
}

constexpr CallShape shape(std::string_view trigger, std::string_view call,
                          std::string_view parameter) {
  return {.call = call, .trigger = trigger, .separator = "\n", .parameter = parameter};
}

}  // namespace

extern constexpr ChatFormat kQwen3CoderFormat{
    .name = "qwen3-coder",
    .detected_by = {{{"<tool_call>", "<function=", "<parameter="}}},
    .call_openers = {"<tool_call>", "<function="},
    .calls_end_reasoning = true,
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<TaggedCalls>(layout("</tool_call>", true), 1);
    },
    .shapes = {{shape("<tool_call>",
                      "<tool_call>\n<function=$name>\n$parameters</function>\n"
                      "</tool_call>",
                      "<parameter=$key>\n$value\n</parameter>\n")}},
};

// ByteDance Seed: another outer tag, and no line breaks around the values.
extern constexpr ChatFormat kSeedFormat{
    .name = "seed",
    .detected_by = {{{"<seed:tool_call>"}}},
    .think = {"<seed:think>", "</seed:think>"},
    .call_openers = {"<seed:tool_call>", "<function="},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<TaggedCalls>(layout("</seed:tool_call>", false), 1);
    },
    .shapes = {{shape("<seed:tool_call>",
                      "<seed:tool_call>\n<function=$name>\n$parameters"
                      "</function>\n</seed:tool_call>",
                      "<parameter=$key>$value</parameter>\n")}},
};

}  // namespace tenon
