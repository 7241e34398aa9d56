// Templates that drop parts of a conversation: the answer notes them; tools are described as text.
#include <gmock/gmock.h>

#include <string>

#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Template that omits calls, reasoning and tools.
constexpr const char* kPlain =
    "{%- for m in messages -%}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' "
    "-}}{%- endfor -%}{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif "
    "-%}";
// Template that shows tools, but omits system messages and results.
constexpr const char* kToolsOnly =
    "{%- if tools -%}{{- '<|im_start|>system\\n<tool_call>' + (tools|tojson) + '<|im_end|>\\n' "
    "-}}{%- "
    "endif -%}{%- for m in messages -%}{%- if m.role in ['user', 'assistant'] -%}{{- "
    "'<|im_start|>' + "
    "m.role + '\\n' + m.content + '<|im_end|>\\n' -}}{%- endif -%}{%- endfor -%}{%- if "
    "add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}";

tenon::Model model_with(const std::string& chat_template, const std::string& tool_use = "") {
  tenon::ExtraOptions extra{{"override", "tokenizer.chat_template=str:" + chat_template}};
  if (!tool_use.empty()) {
    extra.emplace_back("override", "tokenizer.chat_template.tool_use=str:" + tool_use);
  }
  return tenon::Model(TENON_DEMO_MODEL, {.threads = 2, .extra = extra});
}

Value weather_tools() {
  return {{{"type", "function"},
           {"function",
            {{"name", "get_weather"},
             {"description", "Tells the weather."},
             {"parameters",
              {{"type", "object"},
               {"properties", {{"city", {{"type", "string"}}}}},
               {"required", {"city"}},
               {"additionalProperties", false}}}}}}};
}

Value with_history() {
  return Value::parse(R"([{"role": "system", "content": "Be brief."},
      {"role": "user", "content": "What is the weather in Oslo?"},
      {"role": "assistant", "content": "", "reasoning_content": "I ask.", "tool_calls": [{"id": "c",
       "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Oslo\"}"}}]},
      {"role": "tool", "tool_call_id": "c", "content": "5"}])");
}

std::string notes_of(const Reply& reply) {
  EXPECT_EQ(reply.status, 200) << reply.body;
  const auto notes = reply.headers.find("tenon-notes");
  return notes == reply.headers.end() ? "" : notes->second;
}

TEST(LeftOut, NothingIsNotedOfATemplateThatShowsAll) {
  const RunningServer server;
  Value messages = with_history();
  messages[2].erase("reasoning_content");
  EXPECT_EQ(
      notes_of(server.post(
          kChat,
          capital_chat({{"messages", messages}, {"tools", weather_tools()}, {"max_tokens", 1}}))),
      "");
}

TEST(LeftOut, EachKindIsNoted) {
  const tenon::Model model = model_with(kToolsOnly);
  const RunningServer server({}, true, {.model = model.get()});
  const Value body =
      capital_chat({{"messages", with_history()}, {"tools", weather_tools()}, {"max_tokens", 1}});
  EXPECT_THAT(
      notes_of(server.post(kChat, body)),
      AllOf(HasSubstr("tool_calls: "), HasSubstr("tool results: "),
            HasSubstr("reasoning_content: "), HasSubstr("system: "), Not(HasSubstr("tools: "))));
  // The client hides the tools itself by tool_choice "none".
  EXPECT_EQ(
      notes_of(server.post(
          kChat,
          capital_chat({{"tools", weather_tools()}, {"tool_choice", "none"}, {"max_tokens", 1}}))),
      "");
}

TEST(GenericTools, AreToldWhereTheTemplateKnowsNone) {
  const tenon::Model model = model_with(kPlain);
  const RunningServer server({}, true, {.model = model.get()});
  const auto ask = [&](Value changes) {
    changes["max_tokens"] = changes.value("max_tokens", 60);
    return server.post(kChat, capital_chat(changes));
  };
  const int bare = ask(Value::object()).json()["usage"]["prompt_tokens"];
  const Reply told = ask({{"tools", weather_tools()}});
  EXPECT_GT(told.json()["usage"]["prompt_tokens"].get<int>(), bare + 50);
  EXPECT_THAT(notes_of(told), HasSubstr("tools: "));
  const Reply history = ask({{"messages", with_history()}, {"max_tokens", 1}});
  EXPECT_THAT(notes_of(history),
              AllOf(HasSubstr("tools: "), HasSubstr("reasoning_content: "),
                    Not(HasSubstr("tool_calls: ")), Not(HasSubstr("tool results: "))));
  const Value must = ask({{"tools", weather_tools()}, {"tool_choice", "required"}}).json();
  const Value& message = must["choices"][0]["message"];
  ASSERT_TRUE(message.contains("tool_calls")) << must;
  EXPECT_EQ(message["tool_calls"][0]["function"]["name"], "get_weather");
  EXPECT_TRUE(Value::parse(message["tool_calls"][0]["function"]["arguments"].get<std::string>())
                  .contains("city"));
  const Reply kept_out = ask({{"tools", weather_tools()}, {"generic_tools", false}});
  EXPECT_EQ(kept_out.json()["usage"]["prompt_tokens"], bare);
  EXPECT_THAT(notes_of(kept_out), HasSubstr("tools: the model's template leaves out the tools"));
  const Value none = ask({{"messages", user_message("What is the weather in Oslo?")},
                          {"tools", weather_tools()},
                          {"tool_choice", "none"}})
                         .json();
  EXPECT_THAT(none["choices"][0]["message"]["content"].get<std::string>(),
              Not(HasSubstr("<tool_call>")));
}

TEST(ToolChoice, NoneLeavesNoMarkupInTheText) {
  const RunningServer server;
  Value messages = with_history();
  messages.push_back({{"role", "user"}, {"content", "What is the weather in Paris?"}});
  const Value answer = server
                           .post(kChat, capital_chat({{"messages", messages},
                                                      {"tools", weather_tools()},
                                                      {"tool_choice", "none"},
                                                      {"max_tokens", 60}}))
                           .json();
  const Value& message = answer["choices"][0]["message"];
  EXPECT_FALSE(message.contains("tool_calls")) << answer;
  EXPECT_THAT(message["content"].get<std::string>(), Not(HasSubstr("<tool_call>")));
}

TEST(Parts, AreForTheTemplateThatTakesThem) {
  const tenon::Model model = model_with(
      "{%- for m in messages -%}{%- if m.content is string -%}{{- m.content -}}{%- else -%}{%- for "
      "p "
      "in m.content -%}{{- p.text + '|' -}}{%- endfor -%}{%- endif -%}{%- endfor -%}");
  const RunningServer server({}, true, {.model = model.get()});
  const auto prompt_of = [&](const Value& message) {
    const Value body{{"model", "demo"}, {"messages", Value::array({message})}};
    const Value tokens = server.post("/tokenize", body).json()["tokens"];
    return server.post("/detokenize", {{"model", "demo"}, {"tokens", tokens}})
        .json()["prompt"]
        .get<std::string>();
  };
  const Value parts =
      Value::parse(R"([{"type": "text", "text": "One day"}, {"type": "text", "text": "the fox"}])");
  EXPECT_EQ(prompt_of({{"role", "user"}, {"content", parts}}), "One day|the fox|");
  EXPECT_EQ(prompt_of({{"role", "system"}, {"content", parts}}), "One day\nthe fox");
}

TEST(NamedTemplates, ToolUseIsChosenWhenToolsAreGiven) {
  const tenon::Model model = model_with(kPlain, kToolsOnly);
  const RunningServer server({}, true, {.model = model.get()});
  const auto prompt_of = [&](const Value& changes) {
    const Value tokens = server.post("/tokenize", capital_chat(changes)).json()["tokens"];
    return server.post("/detokenize", {{"model", "demo"}, {"tokens", tokens}})
        .json()["prompt"]
        .get<std::string>();
  };
  EXPECT_THAT(prompt_of({{"tools", weather_tools()}}), HasSubstr("<tool_call>[{"));
  EXPECT_THAT(prompt_of(Value::object()), Not(HasSubstr("<tool_call>")));
}

}  // namespace
}  // namespace tenon_http::test
