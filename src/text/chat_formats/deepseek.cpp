// DeepSeek V3 and R1:
//   <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{...}\n```
//   <｜tool▁call▁end｜><｜tool▁calls▁end｜>
// DeepSeek V3.1 omits the kind and the fence. V3.2 and later use tags:
//   <｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n
//   <｜DSML｜parameter name="key" string="true">value</｜DSML｜parameter>\n</｜DSML｜invoke>\n...
#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/named_calls.h"
#include "text/chat_formats/tagged_calls.h"

namespace tenon {
namespace {

constexpr CallShape dsml_shape(std::string_view when, std::string_view open,
                               std::string_view close) {
  return {.call = "<｜DSML｜invoke name=\"$name\">\n$parameters</｜DSML｜invoke>\n",
          .trigger = open.substr(0, open.size() - 1),
          .when = when,
          .open = open,
          .close = close,
          .parameter =
              "<｜DSML｜parameter name=\"$key\" string=\"$type\">$value"
              "</｜DSML｜parameter>\n"};
}

}  // namespace

extern constexpr ChatFormat kDeepSeekV3Format{
    .name = "deepseek-v3",
    .detected_by = {{{"<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>", "```json"}}},
    .call_openers = {"<｜tool▁calls▁begin｜>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<NamedCalls>(NamedCallLayout{.call_open = "<｜tool▁call▁begin｜>",
                                                          .kind_end = "<｜tool▁sep｜>",
                                                          .name_end = "```json",
                                                          .call_close = "```<｜tool▁call▁end｜>",
                                                          .section_close = "<｜tool▁calls▁end｜>"});
    },
    .shapes = {{{.call = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>$name\n```json\n$arguments\n"
                         "```<｜tool▁call▁end｜>",
                 .trigger = "<｜tool▁calls▁begin｜>",
                 .open = "<｜tool▁calls▁begin｜>",
                 .separator = "\n",
                 .close = "<｜tool▁calls▁end｜>"}}},
};

extern constexpr ChatFormat kDeepSeekV31Format{
    .name = "deepseek-v3.1",
    .detected_by = {{{"<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>"}, {"<｜tool▁call▁begin｜>"}}},
    .call_openers = {"<｜tool▁calls▁begin｜>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<NamedCalls>(NamedCallLayout{.call_open = "<｜tool▁call▁begin｜>",
                                                          .name_end = "<｜tool▁sep｜>",
                                                          .call_close = "<｜tool▁call▁end｜>",
                                                          .section_close = "<｜tool▁calls▁end｜>"});
    },
    .shapes = {{{.call = "<｜tool▁call▁begin｜>$name<｜tool▁sep｜>$arguments<｜tool▁call▁end｜>",
                 .trigger = "<｜tool▁calls▁begin｜>",
                 .open = "<｜tool▁calls▁begin｜>",
                 .close = "<｜tool▁calls▁end｜>"}}},
};

extern constexpr ChatFormat kDeepSeekDsmlFormat{
    .name = "deepseek-v3.2",
    .detected_by = {{{"DSML"}}},
    .call_openers = {"<｜DSML｜function_calls>", "<｜DSML｜tool_calls>"},
    .calls_end_reasoning = true,
    .dropped = {"</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<TaggedCalls>(
          TaggedCallLayout{.call_open = "<｜DSML｜invoke name=\"",
                           .name_end = "\">",
                           .key_open = "<｜DSML｜parameter name=\"",
                           .key_close = ">",
                           .value_close = "</｜DSML｜parameter>",
                           .call_close = "</｜DSML｜invoke>",
                           .section_close = "</｜DSML｜function_calls>",
                           .attributes = true,
                           .string_attribute = "string=\"true"});
    },
    .shapes = {{dsml_shape("function_calls", "<｜DSML｜function_calls>\n",
                           "</｜DSML｜function_calls>"),
                dsml_shape("", "<｜DSML｜tool_calls>\n", "</｜DSML｜tool_calls>")}},
};

}  // namespace tenon
