// Answers of every family parsed, in one piece and in every other split.
#include "text/chat_formats/reply_parser.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace tenon {
namespace {

/// Message as "reasoning | content | name#id(arguments) name#id(arguments)".
std::string shown(const ReplyMessage& message) {
  std::string out = message.reasoning + " | " + message.content + " |";
  for (const ReplyCall& call : message.calls) {
    out += fmt::format(" {}#{}({})", call.name, call.id, call.arguments);
  }
  return out;
}

/// Joins deltas to a message, as a host does.
struct Collected {
  ReplyMessage message;
  std::vector<size_t> numbers;

  void take(const ReplyDelta& delta) {
    switch (delta.kind) {
      case ReplyDelta::Kind::Content:
        message.content += delta.text;
        return;
      case ReplyDelta::Kind::Reasoning:
        message.reasoning += delta.text;
        return;
      case ReplyDelta::Kind::CallBegin:
        message.calls.push_back({std::string(delta.id), std::string(delta.text), ""});
        numbers.push_back(delta.call);
        return;
      case ReplyDelta::Kind::CallArguments:
        EXPECT_EQ(delta.call, numbers.back());
        message.calls.back().arguments += delta.text;
        return;
      case ReplyDelta::Kind::CallEnd:
        EXPECT_EQ(delta.call, numbers.back());
        return;
      case ReplyDelta::Kind::CallRetract:
        EXPECT_EQ(delta.call, numbers.back());
        message.calls.pop_back();
        numbers.pop_back();
        return;
    }
  }
};

struct Case {
  const char* format;
  const char* text;
  const char* expected;
  const char* prompt_end = "";
};

ToolTypes types() {
  ToolTypes types;
  types.kinds["f"] = {{"s", kStringKind},
                      {"n", kIntegerKind},
                      {"m", kStringKind | kNullKind},
                      {"l", kStringKind | kIntegerKind | kListKind},
                      {"o", kListKind | kObjectKind},
                      {"p", kListKind}};
  types.kinds["g"] = {};
  return types;
}

std::string parsed(const Case& c, const std::vector<size_t>& cuts) {
  ReplyParser parser(*find_chat_format(c.format), c.prompt_end, true, types());
  Collected collected;
  const ReplySink sink = [&](const ReplyDelta& delta) { collected.take(delta); };
  const std::string_view text = c.text;
  size_t begin = 0;
  for (const size_t cut : cuts) {
    parser.push(text.substr(begin, cut - begin), sink);
    begin = cut;
  }
  parser.push(text.substr(begin), sink);
  parser.finish(sink);
  EXPECT_EQ(shown(collected.message), shown(parser.message())) << c.text;
  return shown(parser.message());
}

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"plain", "Hello <tool_call> {\"name\": 1}", " | Hello <tool_call> {\"name\": 1} |"},
      {"plain", "", " |  |"},
      {"plain", "a \n", " | a \n |"},
      {"hermes", "Hi!", " | Hi! |"},
      {"hermes", "<think>\nwell\n</think>\n\nHi", "well | Hi |"},
      {"hermes", "well</think>\n\nHi", "well | Hi |", "<|im_start|>assistant\n<think>\n"},
      {"hermes", "still thinking", "still thinking |  |", "<think>\n"},
      {"hermes",
       "Sure.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1, \"}\"]}}\n</tool_call>",
       " | Sure. | f#call_0({\"a\": [1, \"}\"]})"},
      {"hermes",
       "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"name\": "
       "\"g\", \"arguments\": {\"x\": null}}\n</tool_call>",
       " |  | f#call_0({}) g#call_1({\"x\": null})"},
      {"hermes", "<tool_call>{\"arguments\": {\"a\": 1}, \"name\": \"f\"}</tool_call>",
       " |  | f#call_0({\"a\": 1})"},
      {"hermes", "<tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": 1}\"}</tool_call>",
       " |  | f#call_0({\"a\": 1})"},
      {"hermes", "<tool_call>{\"name\": \"f\"}</tool_call>", " |  | f#call_0({})"},
      {"hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"x\ny\"}}</tool_call>",
       " |  | f#call_0({\"a\": \"x\\ny\"})"},
      {"hermes", "a<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": oops}}</tool_call>b",
       " | a<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": oops}}</tool_call>b |"},
      {"hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1",
       " | <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1 |"},
      {"hermes", "<tool_call>no json</tool_call> end", " | <tool_call>no json</tool_call> end |"},
      {"hermes", "1 < 2 <tool", " | 1 < 2 <tool |"},
      {"qwen3-coder",
       "ok\n<tool_call>\n<function=f>\n<parameter=s>\nline\n2\n</parameter>\n<parameter=n>\n5\n"
       "</parameter>\n</function>\n</tool_call>",
       " | ok | f#call_0({\"s\": \"line\\n2\", \"n\": 5})"},
      {"qwen3-coder", "<function=f>\n<parameter=x>\nTrue\n</parameter>\n</function>",
       " |  | f#call_0({\"x\": \"True\"})"},
      {"qwen3-coder", "<tool_call>\n<function=f>\n</function>\n</tool_call>", " |  | f#call_0({})"},
      {"qwen3-coder", "<tool_call>\n<function=f>\n<parameter=s>\nab",
       " | <tool_call>\n<function=f>\n<parameter=s>\nab |"},
      {"glm",
       "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>5</arg_value>\n<arg_key>q</arg_key>\n"
       "<arg_value>[1]</arg_value>\n</tool_call>",
       " |  | f#call_0({\"s\": \"5\", \"q\": [1]})"},
      {"glm", "<tool_call>f</tool_call><tool_call>g</tool_call>",
       " |  | f#call_0({}) g#call_1({})"},
      {"minimax-m2",
       "<think>hm</think><minimax:tool_call>\n<invoke name=\"f\">\n<parameter "
       "name=\"n\">7</parameter>\n</invoke>\n<invoke name=\"g\">\n</invoke>\n</minimax:tool_call>",
       "hm |  | f#call_0({\"n\": 7}) g#call_1({})"},
      {"minimax-m1",
       "<tool_calls>\n{\"name\": \"f\", \"arguments\": {}}\n{\"name\": \"g\", \"arguments\": "
       "{}}\n</tool_calls>",
       " |  | f#call_0({}) g#call_1({})"},
      {"llama3", "{\"name\": \"f\", \"parameters\": {\"a\": 1}}", " |  | f#call_0({\"a\": 1})"},
      {"llama3",
       "{\"type\": \"function\", \"name\": \"f\", \"parameters\": {}}; {\"name\": \"g\", "
       "\"parameters\": {}}",
       " |  | f#call_0({}) g#call_1({})"},
      {"llama3", "{\"answer\": 42}", " | {\"answer\": 42} |"},
      {"llama3", "<|python_tag|>{\"name\": \"f\", \"parameters\": {}}", " |  | f#call_0({})"},
      {"llama3", "<|python_tag|>print(\"x\")\n1",
       " |  | python#call_0({\"code\": \"print(\\\"x\\\")\\n1\"})"},
      {"llama3", "<function=f>{\"a\": 1}</function>", " |  | f#call_0({\"a\": 1})"},
      {"mistral", "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}, \"id\": \"abcdef123\"}]",
       " |  | f#abcdef123({})"},
      {"mistral",
       "[TOOL_CALLS] [{\"id\": \"abcdef123\", \"name\": \"f\", \"arguments\": {\"a\": 1}}, "
       "{\"name\": \"g\", \"arguments\": {}}]",
       " |  | f#abcdef123({\"a\": 1}) g#call00001({})"},
      {"mistral", "Hm.[TOOL_CALLS]f[ARGS]{\"a\": 1}[TOOL_CALLS]g[CALL_ID]xyz[ARGS]{}",
       " | Hm. | f#call00000({\"a\": 1}) g#xyz({})"},
      {"mistral", "[THINK]hm[/THINK]Yes.", "hm | Yes. |"},
      {"deepseek-v3",
       "Let me.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n"
       "{\"a\": 1}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json"
       "\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
       " | Let me. | f#call_0({\"a\": 1}) g#call_1({})"},
      {"deepseek-v3.1",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜>"
       "<｜tool▁calls▁end｜>",
       " |  | f#call_0({\"a\": 1})"},
      {"deepseek-v3.2",
       "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"x\" "
       "string=\"true\">5</｜DSML｜parameter>\n<｜DSML｜parameter name=\"y\" "
       "string=\"false\">5</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
       " |  | f#call_0({\"x\": \"5\", \"y\": 5})"},
      {"deepseek-v4.1",
       "<think>hm</think>Wait.\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ "
       "parameter "
       "name=\"x\" string=\"true\">5 < 6</｜DSML｜ parameter>\n<｜DSML｜ parameter name=\"y\" "
       "string=\"false\">{\"a\": [1]}</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n<｜DSML｜ invoke "
       "name=\"g\">\n\n</｜DSML｜ invoke>\n</｜DSML｜ calls>",
       "hm | Wait. | f#call_0({\"x\": \"5 < 6\", \"y\": {\"a\": [1]}}) g#call_1({})"},
      {"kimi-k2",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>"
       "{\"a\": 1}<|tool_call_end|><|tool_calls_section_end|>",
       " |  | f#functions.f:0({\"a\": 1})"},
      {"granite-3", "<|tool_call|>[{\"name\": \"f\", \"arguments\": {}}]", " |  | f#call_0({})"},
      {"granite-3", "<think>a</think><response>b</response>", "a | b |"},
      {"apertus", "<|tools_prefix|>[{\"f\": {\"a\": 1}}, {\"g\": {}}]<|tools_suffix|>",
       " |  | f#call_0({\"a\": 1}) g#call_1({})"},
      {"command-r",
       "<|START_THINKING|>p<|END_THINKING|><|START_ACTION|>[{\"tool_call_id\": \"0\", "
       "\"tool_name\": \"f\", \"parameters\": {}}]<|END_ACTION|>",
       "p |  | f#0({})"},
      {"nemotron", "<TOOLCALL>[{\"name\": \"f\", \"arguments\": {}}]</TOOLCALL>",
       " |  | f#call_0({})"},
      {"gemma",
       "<start_function_call>call:f{s:<escape>a\"b{<escape>,n:3,l:[1,<escape>x<escape>],b:true}"
       "<end_function_call>",
       " |  | f#call_0({\"s\": \"a\\\"b{\", \"n\": 3, \"l\": [1, \"x\"], \"b\": true})"},
      {"gemma-4", "<|tool_call>call:f{q:<|\"|>x<|\"|>}<tool_call|>",
       " |  | f#call_0({\"q\": \"x\"})"},
      {"gemma-4", "<|channel>thought\nhm<channel|>Yes", "hm | Yes |"},
      {"harmony",
       "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hi"
       "<|return|>",
       "hm | Hi |"},
      {"harmony",
       "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary "
       "to=functions.f <|constrain|>json<|message|>{\"a\": 1}<|call|>",
       "hm |  | f#call_0({\"a\": 1})"},
      {"harmony", "<|start|>assistant to=functions.f<|channel|>commentary<|message|>{}",
       " |  | f#call_0({})"},
      {"harmony", "just text", " | just text |"},
      // Other than numbers is a string; JSON counts only if valid.
      {"qwen3-coder",
       "<function=f><parameter=x>2024-01-15</parameter><parameter=y>007</parameter><parameter=z>"
       "-1.5e+3</parameter><parameter=u>1.</parameter></function>",
       " |  | f#call_0({\"x\": \"2024-01-15\", \"y\": \"007\", \"z\": -1.5e+3, \"u\": \"1.\"})"},
      {"hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1-2}}</tool_call>",
       " | <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1-2}}</tool_call> |"},
      // Arguments are always JSON, whatever the model wrote.
      {"hermes", "<tool_call>{\"name\": \"f\", \"arguments\": \"hello\"}</tool_call>",
       " |  | f#call_0(\"hello\")"},
      {"hermes",
       "<tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": \\\"x\\ny\\\"}\"}</tool_call>",
       " |  | f#call_0({\"a\": \"x\\ny\"})"},
      {"glm",
       "<tool_call>f<arg_key>q</arg_key><arg_value>{\"a\": \"x\ny\"}</arg_value></tool_call>",
       " |  | f#call_0({\"q\": {\"a\": \"x\\ny\"}})"},
      // Parameters that allow several kinds.
      {"qwen3-coder",
       "<function=f><parameter=m>5</parameter></function><function=f><parameter=m>null</parameter>"
       "</function>",
       " |  | f#call_0({\"m\": \"5\"}) f#call_1({\"m\": null})"},
      {"glm",
       "<tool_call>f<arg_key>l</arg_key><arg_value>[1]</arg_value></"
       "tool_call><tool_call>f<arg_key>l"
       "</arg_key><arg_value>{}</arg_value></tool_call><tool_call>f<arg_key>l</arg_key><arg_value>"
       "1.5</arg_value></tool_call>",
       " |  | f#call_0({\"l\": [1]}) f#call_1({\"l\": \"{}\"}) f#call_2({\"l\": \"1.5\"})"},
      {"seed",
       "<seed:tool_call><function=f><parameter=s>a\n</parameter></function></seed:tool_call>",
       " |  | f#call_0({\"s\": \"a\\n\"})"},
      // Lists and objects in Python syntax, if only these are allowed.
      {"seed",
       "<seed:tool_call><function=f><parameter=o>['a', 5, {'b': None}]</parameter><parameter=l>"
       "['a']</parameter><parameter=x>['a']</parameter><parameter=p>['a'</parameter></function>"
       "</seed:tool_call>",
       " |  | f#call_0({\"o\": [\"a\", 5, {\"b\": null}], \"l\": \"['a']\", \"x\": \"['a']\", "
       "\"p\": \"['a'\"})"},
      // White space after calls is not content.
      {"hermes", "Hi\n<tool_call>{\"name\": \"f\"}</tool_call>\n\n", " | Hi | f#call_0({})"},
      {"hermes", "Hi\n<tool_call>{\"name\": \"f\"}</tool_call>\nHo\n",
       " | Hi\nHo\n | f#call_0({})"},
      {"gemma-4", "<|tool_call>call:f{}<tool_call|><|tool_response>", " |  | f#call_0({})"},
      // Calls before the reasoning was closed, and text that resembles a call.
      {"qwen3-coder", "So:\n<tool_call><function=g></function></tool_call>",
       "So: |  | g#call_0({})", "<think>\n"},
      {"qwen3-coder", "Like <tool_call> here</think>Hi", "Like <tool_call> here | Hi |", "<think>"},
      {"kimi-k2",
       "<think>hm<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_begin|>"
       "functions.g:1<|tool_call_argument_begin|>{\"a\": 1}",
       "hm |  | f#functions.f:0({}) g#functions.g:1({\"a\": 1})"},
      {"mistral", "[THINK]a [TOOL_CALLS]g[ARGS]{} b[/THINK]c", "a [TOOL_CALLS]g[ARGS]{} b | c |"},
      {"gemma-4", "<|channel>thought<channel|>Hi<|channel>thought\n<channel|><channel|>",
       " | Hi |"},
      // Calls in Python syntax.
      {"lfm2",
       "Ok.<|tool_call_start|>[f(a=1, s='it\\'s \"x\"', b=True, c=None), "
       "a.g(l=[1, (2., .5), {'k': -3, 1: \"\"\"d\"e\nf\"\"\"},])]<|tool_call_end|>",
       " | Ok. | f#call_0({\"a\": 1, \"s\": \"it's \\\"x\\\"\", \"b\": true, \"c\": null}) "
       "a.g#call_1({\"l\": [1, [2.0, 0.5], {\"k\": -3, \"1\": \"d\\\"e\\nf\"}]})"},
      {"lfm2", "<|tool_call_start|>[f(s=\"\\x41\\u00e4\\ud83d\\ude00\\q\\n\", t='', u=+1_000)]",
       " |  | f#call_0({\"s\": \"A\xC3\xA4\xF0\x9F\x98\x80\\\\q\\n\", \"t\": \"\", \"u\": 1000})"},
      {"lfm2", "<|tool_call_start|>[f(a=b)]<|tool_call_end|>",
       " | <|tool_call_start|>[f(a=b)]<|tool_call_end|> |"},
      {"lfm2", "<|tool_call_start|>[g(), f(a=", " | , f(a= | g#call_0({})"},
      {"olmo-3", "<function_calls>\nf(a=\"x\")\ng()\n</function_calls>",
       " |  | f#call_0({\"a\": \"x\"}) g#call_1({})"},
      {"llama3", "[f(a=\"x\"), g()]", " |  | f#call_0({\"a\": \"x\"}) g#call_1({})"},
      {"llama3", "[link](url) [f(a=1)]", " | [link](url) [f(a=1)] |"},
      {"llama3", "[no_tool(a=1)]", " | [no_tool(a=1)] |"},
      {"llama3", "<|python_tag|>brave_search.call(query=\"a b\")",
       " |  | brave_search#call_0({\"query\": \"a b\"})"},
      {"llama3", "<|python_tag|>x = f.call(1)",
       " |  | python#call_0({\"code\": \"x = f.call(1)\"})"},
      {"llama4", "<|python_start|>[f(a=1)]<|python_end|>", " |  | f#call_0({\"a\": 1})"},
      {"llama4", "<|python_start|>print(1)<|python_end|>Done",
       " | Done | python#call_0({\"code\": \"print(1)\"})"},
      // Other families.
      {"functionary", "all\nHi >> you>>>f\n{\"a\": 1}>>>g\n{}",
       " | Hi >> you | f#call_0({\"a\": 1}) g#call_1({})", ">>>"},
      {"functionary", "f\n{\"a\": 1", " | f\n{\"a\": 1 |", ">>>"},
      {"functionary", "all", " |  |", ">>>"},
      {"functionary", ">>>all\nHi", " | Hi |"},
      {"functionary", "all\nHi>>>>>>>>>f\n{}", " | Hi | f#call_0({})", ">>>"},
      {"command-r-plus",
       "Action: ```json\n[\n    {\n        \"tool_name\": \"f\",\n        \"parameters\": {}\n    "
       "}\n"
       "]\n```",
       " |  | f#call_0({})"},
      {"phi-4", "<|tool_call|>[{\"name\": \"f\", \"arguments\": {}}]<|/tool_call|>",
       " |  | f#call_0({})"},
      {"firefunction", " functools[{\"name\": \"f\", \"arguments\": {}}]", " |  | f#call_0({})"},
      {"apriel",
       "hm\n[BEGIN FINAL RESPONSE]\nHi <tool_calls>[{\"name\": \"f\", \"arguments\": {}, \"id\": "
       "\"7\"}]</tool_calls>",
       "hm | Hi | f#call_0({})", "Here are my reasoning steps:\n"},
      {"hunyuan", "<think>\nhm\n</think>\n<answer>\nHi\n</answer>", "hm | Hi |"},
      {"kimi-k3",
       "hm<|close|>think<|sep|><|open|>response<|sep|>Hi<|close|>response<|sep|><|close|>message"
       "<|sep|><|end_of_msg|>",
       "hm | Hi |", "<|open|>message role=\"assistant\"<|sep|><|open|>think<|sep|>"},
      {"kimi-k3",
       "<|open|>think<|sep|>hm<|close|>think<|sep|><|open|>response<|sep|><|close|>response<|sep|>"
       "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument key=\"s\" "
       "type=\"string\"<|sep|>a \"b\"<|close|>argument<|sep|><|open|>argument key=\"a&quot;&amp;\" "
       "type=\"array\"<|sep|>[1, 2]<|close|>argument<|sep|><|close|>call<|sep|><|open|>call "
       "tool=\"g\" "
       "index=\"2\"<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>",
       "hm |  | f#call_0({\"s\": \"a \\\"b\\\"\", \"a\\\"&\": [1, 2]}) g#call_1({})"},
      {"kimi-k3",
       "<|open|>response<|sep|>Hi<|close|>response<|sep|><|open|>tools<|sep|><|open|>call "
       "tool=\"f\" index=\"1\"<|sep|><|open|>json type=\"object\"<|sep|>{\"a\": [1, "
       "\"<|sep|>\"]}<|close|>json<|sep|><|close|>call<|sep|><|open|>call tool=\"g\" "
       "index=\"2\"<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
       " | Hi | f#call_0({\"a\": [1, \"<|sep|>\"]}) g#call_1({})"},
      {"kimi-k3",
       "<|open|>tools<|sep|><|open|>call "
       "tool=\"f\"<|sep|><|open|>json<|sep|>[1]<|close|>json<|sep|>"
       "<|close|>call<|sep|>",
       " | <|open|>tools<|sep|><|open|>call tool=\"f\"<|sep|><|open|>json<|sep|>[1]<|close|>json"
       "<|sep|><|close|>call<|sep|> |"},
      {"kimi-k3", "<|open|>tools<|sep|><|open|>call tool=\"f\"<|sep|>no",
       " | <|open|>tools<|sep|><|open|>call tool=\"f\"<|sep|>no |"},
      {"minimax-m3",
       "<mm:think>hm</mm:think>Hi]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"f\">"
       "]<]minimax[>[<s>5 < 6]<]minimax[>[</s>]<]minimax[>[<n>7]<]minimax[>[</n>]<]minimax[>[<o>"
       "]<]minimax[>[<p>x]<]minimax[>[</p>]<]minimax[>[<q>]<]minimax[>[<item>1]<]minimax[>[</item>"
       "]<]minimax[>[<item>]<]minimax[>[<r>true]<]minimax[>[</r>]<]minimax[>[</item>]<]minimax[>["
       "</q>]<]minimax[>[</o>]<]minimax[>[</invoke>\n]<]minimax[>[<invoke name=\"g\">]<]minimax[>["
       "</invoke>\n]<]minimax[>[</tool_call>",
       "hm | Hi | f#call_0({\"s\": \"5 < 6\", \"n\": 7, \"o\": {\"p\": \"x\", \"q\": [1, {\"r\": "
       "true}]}}) g#call_1({})"},
      {"minimax-m3",
       "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<l>]<]minimax[>[</l>"
       "]<]minimax[>[<o>[1]]<]minimax[>[</o>]<]minimax[>[</invoke>",
       " |  | f#call_0({\"l\": \"\", \"o\": [1]})"},
      {"minimax-m3",
       "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<s>a]<]minimax[>[</t>",
       " | ]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<s>a]<]minimax[>["
       "</t> |"},
      {"minimax-m3", "a]<]minimax[>[<tool_call>\n", " | a]<]minimax[>[<tool_call>\n |"},
      {"minicpm-5",
       "Ok\n<function name=\"f\"><param name=\"s\">5</param><param name=\"x\"><![CDATA[a</param>\n"
       "<b]]></param><param name=\"n\"><![CDATA[3]]></param></function>\n<function name=\"g\">"
       "</function>",
       " | Ok | f#call_0({\"s\": \"5\", \"x\": \"a</param>\\n<b\", \"n\": 3}) g#call_1({})"},
      {"minicpm-5", "<function name=\"f\"><param name=\"s\"><![CDATA[a",
       " | <function name=\"f\"><param name=\"s\"><![CDATA[a |"},
      {"solar-open", "<|think|>hm<|end|><|begin|>assistant<|content|>Hi<|end|>", "hm | Hi |"},
      {"solar-open",
       "<|think|>hm<|end|><|begin|>assistant<|tool_calls|><|tool_call:begin|>a1b2c3d4e5"
       "<|tool_call:name|>f<|tool_call:args|>{\"a\": 1}<|tool_call:end|><|tool_call:begin|>x"
       "<|tool_call:name|>g<|tool_call:args|>{}<|tool_call:end|><|calls|>",
       "hm |  | f#a1b2c3d4e5({\"a\": 1}) g#x({})"},
      {"hy3",
       "hm</think:opensource>Hi<tool_calls:opensource>\n<tool_call:opensource>f"
       "<tool_sep:opensource>\n<arg_key:opensource>s</arg_key:opensource>\n<arg_value:opensource>5"
       "</arg_value:opensource>\n<arg_key:opensource>n</arg_key:opensource>\n"
       "<arg_value:opensource>5</arg_value:opensource>\n</tool_call:opensource>\n"
       "<tool_call:opensource>g<tool_sep:opensource>\n</tool_call:opensource>\n"
       "</tool_calls:opensource>",
       "hm | Hi | f#call_0({\"s\": \"5\", \"n\": 5}) g#call_1({})", "<think:opensource>"},
      {"muse", " to=self<|message|>hm<|eom|><|start|>assistant to=user<|message|>Hi<|eot|>",
       "hm | Hi |"},
      {"muse",
       " to=self<|message|>hm<|eom|><|start|>assistant to=f<|message|><atem:function_calls>\n"
       "<atem:invoke name=\"f\">\n<atem:parameter name=\"s\">5\n</atem:parameter>\n</atem:invoke>\n"
       "</atem:function_calls><|eom|><|start|>assistant to=g<|message|><atem:function_calls>\n"
       "<atem:invoke name=\"g\">\n</atem:invoke>\n</atem:function_calls><|eot|>",
       "hm |  | f#call_0({\"s\": \"5\\n\"}) g#call_1({})"},
      {"muse", " to=user<|message|>See <atem:function_calls> there",
       " | See <atem:function_calls> there |"},
      {"muse", "just text", " | just text |"},
      {"muse", " to=user<|message|>Hi<|eot|><|start|>assistant to=user", " | Hi |"},
      {"gigachat", "Hi<|function_call|>{\"name\": \"f\", \"arguments\": {\"a\": 1}}",
       " | Hi | f#call_0({\"a\": 1})"},
  };
  return kCases;
}

TEST(ReplyParser, TakesAnswersApart) {
  for (const Case& c : cases()) EXPECT_EQ(parsed(c, {}), c.expected) << c.format << ": " << c.text;
}

TEST(ReplyParser, PiecesDoNotMatter) {
  std::mt19937 random(7);
  for (const Case& c : cases()) {
    const size_t size = std::string_view(c.text).size();
    std::vector<size_t> all;
    for (size_t i = 1; i < size; ++i) {
      all.push_back(i);
      EXPECT_EQ(parsed(c, {i}), c.expected) << c.format << " cut at " << i << ": " << c.text;
    }
    EXPECT_EQ(parsed(c, all), c.expected) << c.format << " byte by byte: " << c.text;
    for (int round = 0; round < 5; ++round) {
      std::vector<size_t> some;
      for (const size_t i : all) {
        if (random() % 4 == 0) some.push_back(i);
      }
      EXPECT_EQ(parsed(c, some), c.expected) << c.format << ": " << c.text;
    }
  }
}

TEST(ReplyParser, WhatIsTooLongForAHeaderIsText) {
  const std::string text(3000, 'x');
  for (const char* format : {"harmony", "muse"}) {
    const std::string answer = "<|start|>" + text + "<|message|>a<|start|>b";
    const Case c{format, answer.c_str(), ""};
    const std::string expected = parsed(c, {});
    EXPECT_EQ(expected.find(text), 3u) << format;
    std::vector<size_t> all;
    for (size_t i = 1; i < answer.size(); ++i) all.push_back(i);
    EXPECT_EQ(parsed(c, all), expected) << format;
    EXPECT_EQ(parsed(c, {2000}), expected) << format;
  }
}

TEST(ReplyParser, MadeUpIdsGoOnInAConversation) {
  const auto ids = [](const char* format, const char* text) {
    ReplyParser parser(*find_chat_format(format), "", true, {}, 3);
    parser.push(text);
    parser.finish();
    std::string out;
    for (const ReplyCall& call : parser.message().calls) out += call.id + " ";
    return out;
  };
  EXPECT_EQ(ids("glm", "<tool_call>f</tool_call><tool_call>g</tool_call>"), "call_3 call_4 ");
  EXPECT_EQ(ids("mistral", "[TOOL_CALLS]f[ARGS]{}[TOOL_CALLS]g[CALL_ID]abcdefghi[ARGS]{}"),
            "call00003 abcdefghi ");
}

TEST(ReplyParser, WithoutToolsCallsAreText) {
  ReplyParser parser(*find_chat_format("hermes"), "", false);
  parser.push("<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>");
  parser.finish();
  EXPECT_EQ(shown(parser.message()),
            " | <tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call> |");
}

TEST(ReplyParser, ArgumentsComeWhileTheyAreWritten) {
  ReplyParser parser(*find_chat_format("hermes"), "", true);
  std::vector<std::string> arguments;
  const ReplySink sink = [&](const ReplyDelta& delta) {
    if (delta.kind == ReplyDelta::Kind::CallArguments) arguments.emplace_back(delta.text);
  };
  parser.push("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"on", sink);
  EXPECT_THAT(arguments, testing::ElementsAre("{\"a\": \"on"));
  parser.push("ce\"}}", sink);
  EXPECT_THAT(arguments, testing::ElementsAre("{\"a\": \"on", "ce\"}"));
}

TEST(ReplyParser, EveryFamilyIsInTheTableOnce) {
  for (const ChatFormat* format : chat_formats()) {
    EXPECT_EQ(find_chat_format(format->name), format);
  }
  EXPECT_EQ(find_chat_format("nosuch"), nullptr);
  EXPECT_EQ(detect_chat_format("{{ x }}").name, "plain");
  EXPECT_EQ(detect_chat_format("<tool_call>").name, "hermes");
  EXPECT_EQ(detect_chat_format("[INST]' + x + '[/INST][THINK]' + y + '[/THINK]").name, "mistral");
  EXPECT_EQ(detect_chat_format("<tool_call><function=<parameter=").name, "qwen3-coder");
}

TEST(ReplyParser, LongAnswersTakeProportionalWork) {
  ReplyParser parser(*find_chat_format("hermes"), "", true);
  parser.push("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"");
  for (int i = 0; i < 200'000; ++i) parser.push("<tool");
  parser.push("\"}}</tool_call>");
  for (int i = 0; i < 200'000; ++i) parser.push("<tool");
  parser.finish();
  EXPECT_EQ(parser.message().calls.size(), 1u);
  EXPECT_EQ(parser.message().content.size(), 1'000'000u);
}

}  // namespace
}  // namespace tenon
