// Linear time: conversations, answers, templates.
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "handles.h"
#include "linear_time.h"

namespace {

using namespace tenon_test;

constexpr const char* kTemplate =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% for t in tools or [] %}{{ t|tojson }}{% endfor %}"
    "{# <tool_call> [CALL_ID][ARGS]<|function_call|> #}";

ChatPtr make_chat(const char* source, const char* format = "auto") {
  const OptionsPtr options = make_options();
  EXPECT_OK(tenon_options_set_string(options.get(), "template", source, TENON_NUL_TERMINATED));
  EXPECT_OK(tenon_options_set_string(options.get(), "chat_format", format, TENON_NUL_TERMINATED));
  EXPECT_OK(tenon_options_set_int(options.get(), "template_time_ms", 60'000));
  tenon_chat* chat = nullptr;
  EXPECT_OK(tenon_chat_create(nullptr, options.get(), &chat));
  return ChatPtr(chat);
}

void render(const tenon_chat* chat, const std::string& conversation) {
  size_t needed = 0;
  expect_answer(
      tenon_chat_render(chat, conversation.data(), conversation.size(), nullptr, 0, &needed));
}

std::string with_messages(const std::string& messages, const std::string& others = "") {
  return R"({"messages": [)" + messages + "]" + others + "}";
}
std::string message(const std::string& others) {
  return with_messages(R"({"role": "user", )" + others + "}");
}
std::string with_tools(const std::string& tools) {
  return with_messages(R"({"role": "user", "content": "x"})", R"(, "tools": [)" + tools + "]");
}
std::string tool(const std::string& parameters) {
  return with_tools(R"({"type": "function", "function": {"name": "f", "parameters": )" +
                    parameters + "}}");
}
const std::vector<Text> kConversations{
    {"members", 20'000, [](size_t n) { return with_messages("", "," + numbered(R"("#": 1)", n)); }},
    {"variables", 20'000,
     [](size_t n) {
       return with_messages("", R"(, "variables": {)" + numbered(R"("#": 1)", n) + "}");
     }},
    {"messages", 5'000,
     [](size_t n) { return with_messages(numbered(R"({"role": "user", "content": "#"})", n)); }},
    {"members of a message", 10'000, [](size_t n) { return message(numbered(R"("#": 1)", n)); }},
    {"parts", 5'000,
     [](size_t n) {
       return message(R"("content": [)" + numbered(R"({"type": "text", "text": "#"})", n) + "]");
     }},
    {"a long text", 500'000,
     [](size_t n) { return message(R"("content": ")" + repeated("a", n) + "\""); }},
    {"escapes", 100'000,
     [](size_t n) { return message(R"("content": ")" + repeated("\\u00e9\\n", n) + "\""); }},
    {"calls", 3'000,
     [](size_t n) {
       return message(R"("tool_calls": [)" +
                      numbered(R"({"function": {"name": "f", "arguments": "{\"a\": #}"}})", n) +
                      "]");
     }},
    {"members of arguments", 10'000,
     [](size_t n) {
       return message(R"("tool_calls": [{"function": {"name": "f", "arguments": "{)" +
                      numbered(R"(\"#\": 1)", n) + R"(}"}}])");
     }},
    {"nesting", 50'000, [](size_t n) { return message(R"("content": )" + repeated("[", n)); }},
    {"digits", 200'000, [](size_t n) { return message(R"("content": )" + repeated("1", n)); }},
    {"tools", 2'000,
     [](size_t n) {
       return with_tools(numbered(R"({"function": {"name": "f#", "parameters": {"properties": )"
                                  R"({"a": {"type": "string"}}}}})",
                                  n));
     }},
    {"parameters", 5'000,
     [](size_t n) { return tool(object(numbered(R"("p#": {"type": "integer"})", n))); }},
    {"texts as parameters", 5'000,
     [](size_t n) { return tool(object(numbered(R"("p#": {"type": "string"})", n))); }},
    {"required parameters", 3'000,
     [](size_t n) {
       return tool(object(numbered(R"("p#": {"type": "string"})", n),
                          R"(, "required": [)" + numbered(R"("p#")", n) + "]"));
     }},
    {"choices of a parameter", 10'000,
     [](size_t n) { return tool(object(R"("a": {"enum": [)" + numbered("\"#\"", n) + "]}")); }},
    {"alternatives of a parameter", 2'000,
     [](size_t n) {
       return tool(object(R"("a": {"anyOf": [)" + numbered(R"({"const": #})", n) + "]}"));
     }},
    {"one enum of many parameters", 1'000,
     [](size_t n) {
       return tool(object(numbered(R"("p#": {"anyOf": [{"$ref": "~/$defs/a"}]})", n),
                          R"(, "$defs": {"a": {"enum": [)" + numbered("#", n) + "]}}"));
     }},
    {"choices behind choices", 60,
     [](size_t n) {
       return tool(object(numbered(R"("p#": {"$ref": "~/$defs/b"})", n),
                          R"(, "$defs": {"a": {"enum": [)" + numbered("#", n) +
                              R"(]}, "b": {"anyOf": [)" +
                              repeated(R"({"$ref": "#/$defs/a"}, )", n) + "true]}}"));
     }},
    {"definitions", 300,
     [](size_t n) {
       return tool(
           object(numbered(R"("p#": {"type": "array", "items": {"$ref": "~/$defs/d#"}})", n),
                  R"(, "$defs": {)" + numbered(R"("d#": {"type": "integer"})", n) + "}"));
     }},
    {"a long name around many", 1'000,
     [](size_t n) {
       return tool(object("\"" + repeated("a", 100 * n) +
                          "\": " + object(numbered(R"("p#": {"type": "integer"})", n))));
     }},
    {"a schema of the answer", 3'000,
     [](size_t n) {
       return with_messages(R"({"role": "user", "content": "x"})",
                            R"(, "response_format": {"type": "json_schema", "schema": )" +
                                object(numbered(R"("p#": {"type": "integer"})", n)) + "}");
     }},
};

TEST(LinearTime, Conversations) {
  const ChatPtr chat = make_chat(kTemplate);
  std::vector<Case> cases;
  for (const Text& text : kConversations) {
    cases.push_back(
        {text.name, text.size, [&](size_t n) { render(chat.get(), text_of(text, n)); }});
  }
  expect_linear(cases);
}

TEST(LinearTime, GrammarsOfAnswers) {
  for (const char* format : {"hermes", "qwen3-coder", "gemma-4"}) {
    SCOPED_TRACE(format);
    std::vector<Case> cases;
    for (const Text& text : kConversations) {
      cases.push_back({text.name, text.size, [&](size_t n) {
                         // A chat caches its compiled grammars.
                         const ChatPtr chat = make_chat(kTemplate, format);
                         const std::string conversation = text_of(text, n);
                         tenon_grammar* grammar = nullptr;
                         expect_answer(tenon_chat_grammar(chat.get(), conversation.data(),
                                                          conversation.size(), &grammar));
                         tenon_grammar_destroy(grammar);
                       }});
    }
    expect_linear(cases);
  }
}

// Each parameter's schema is read with the definitions: the product is refused. The bound is twice
// the 250 ms that a grammar may take.
TEST(LinearTime, DefinitionsAreNotReadWithoutEndForEachParameter) {
  const ChatPtr chat = make_chat(kTemplate, "qwen3-coder");
  const auto text = std::ranges::find_if(
      kConversations, [](const Text& known) { return std::string(known.name) == "definitions"; });
  const std::string conversation = text_of(*text, 10'000);
  const double seconds = tenon::processor_seconds([&] {
    tenon_grammar* grammar = nullptr;
    EXPECT_EQ(tenon_chat_grammar(chat.get(), conversation.data(), conversation.size(), &grammar),
              TENON_ERROR_GRAMMAR);
  });
  EXPECT_LE(seconds, 0.5);
}

TEST(LinearTime, AnswersInSmallPieces) {
  for (const char* format : {"apertus",      "apriel",        "command-r",     "command-r-plus",
                             "deepseek-v3",  "deepseek-v3.1", "deepseek-v3.2", "deepseek-v4.1",
                             "firefunction", "functionary",   "gemma",         "gemma-4",
                             "gigachat",     "glm",           "granite-3",     "harmony",
                             "hermes",       "hunyuan",       "hy3",           "kimi-k2",
                             "kimi-k3",      "lfm2",          "llama3",        "llama4",
                             "minicpm-5",    "minimax-m1",    "minimax-m2",    "minimax-m3",
                             "mistral",      "muse",          "nemotron",      "olmo-3",
                             "phi-4",        "plain",         "qwen3-coder",   "reasoning",
                             "seed",         "solar-open"}) {
    SCOPED_TRACE(format);
    const ChatPtr chat = make_chat(kTemplate, format);
    const std::string conversation = tool(object(R"("a": {"type": "string"})"));
    std::vector<Case> cases;
    for (const char* unit : {"a",
                             "<",
                             "{",
                             "[",
                             "(",
                             "\"",
                             "\\",
                             " ",
                             "\n",
                             "`",
                             "<think>",
                             "<tool_call>",
                             "f(a=1)",
                             "{\"name\": \"f\", \"arguments\": {",
                             "{\"name\": \"f\", \"parameters\": {\"a\": \"",
                             "<|channel|>",
                             "<function=f>",
                             "[TOOL_CALLS]",
                             "\xC3",
                             "<|",
                             "</",
                             "a,",
                             "1"}) {
      for (const char* begin : {"", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \""}) {
        cases.push_back({unit, 3'000, [=, &chat, &conversation](size_t n) {
                           tenon_chat_reply* made = nullptr;
                           ASSERT_OK(tenon_chat_reply_create(chat.get(), conversation.data(),
                                                             conversation.size(), &made));
                           const ReplyPtr reply(made);
                           const std::string text = begin + repeated(unit, n / strlen(unit));
                           for (const char& c : text) {
                             expect_answer(
                                 tenon_chat_reply_push_text(made, &c, 1, nullptr, nullptr));
                           }
                           expect_answer(tenon_chat_reply_finish(made, nullptr, nullptr));
                           const char* json = nullptr;
                           size_t size = 0;
                           expect_answer(tenon_chat_reply_message(made, &json, &size));
                         }});
      }
    }
    expect_linear(cases);
  }
}

TEST(LinearTime, SourcesOfTemplates) {
  const std::vector<Text> sources{
      {"text", 500'000, [](size_t n) { return repeated("a", n); }},
      {"expressions", 3'000, [](size_t n) { return repeated("{{ a }}", n); }},
      {"names", 3'000, [](size_t n) { return numbered("{{ a# }}", n, ""); }},
      {"sets", 2'000, [](size_t n) { return numbered("{% set a# = 1 %}", n, ""); }},
      {"comments", 50'000, [](size_t n) { return repeated("a{##}", n); }},
      {"ifs", 20'000, [](size_t n) { return repeated("{% if a %}", n); }},
      {"parentheses", 50'000, [](size_t n) { return "{{ " + repeated("(", n); }},
      {"a sum", 3'000, [](size_t n) { return "{{ 1" + repeated("+1", n) + " }}"; }},
      {"filters", 3'000, [](size_t n) { return "{{ a" + repeated("|e", n) + " }}"; }},
      {"a string", 200'000, [](size_t n) { return "{{ '" + repeated("\\n", n) + "' }}"; }},
      {"strings", 3'000, [](size_t n) { return "{{ " + repeated("'a' ", n) + "}}"; }},
      {"a list", 3'000, [](size_t n) { return "{{ [" + repeated("1,", n) + "] }}"; }},
      {"a dict", 2'000, [](size_t n) { return "{{ {" + numbered("'#': 1", n) + "} }}"; }},
      {"macros", 1'000, [](size_t n) { return numbered("{% macro m#() %}{% endmacro %}", n, ""); }},
      {"parameters", 3'000,
       [](size_t n) { return "{% macro m(" + numbered("a#", n) + ") %}{% endmacro %}"; }},
      {"spaces", 100'000, [](size_t n) { return repeated(" \n", n) + "{%- if a %}"; }},
      {"unclosed", 100'000, [](size_t n) { return repeated("{#", n); }},
      {"braces", 100'000, [](size_t n) { return repeated("{ {", n); }},
  };
  std::vector<Case> cases;
  for (const Text& source : sources) {
    cases.push_back(
        {source.name, source.size, [&](size_t n) {
           const std::string text = source.make(n);
           const OptionsPtr options = make_options();
           EXPECT_OK(tenon_options_set_string(options.get(), "template", text.data(), text.size()));
           EXPECT_OK(tenon_options_set_bool(options.get(), "template_raw", 1));
           tenon_chat* chat = nullptr;
           expect_answer(tenon_chat_create(nullptr, options.get(), &chat));
           if (chat != nullptr) render(chat, with_messages(""));
           tenon_chat_destroy(chat);
         }});
  }
  expect_linear(cases);
}

}  // namespace
