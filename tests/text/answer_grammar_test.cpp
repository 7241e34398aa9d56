// Grammars of answers: every accepted text parses as calls that obey the tools' schemas.
#include "text/chat/answer_grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "text/chat/chat.h"
#include "text/grammar/matcher.h"

namespace tenon {
namespace {

using grammar::TokenMasks;
using grammar::TokenSet;

constexpr const char* kWeather = R"({"type": "object", "properties": {
    "city": {"type": "string"}, "unit": {"type": "string", "enum": ["c", "f"]},
    "days": {"type": "integer", "minimum": 1, "maximum": 9}, "exact": {"type": "boolean"}},
    "required": ["city", "days"], "additionalProperties": false})";
constexpr const char* kNothing =
    R"({"type": "object", "properties": {}, "additionalProperties": false})";

std::string conversation(const std::string& more = "") {
  return R"({"messages": [], "tools": [{"type": "function", "function": {"name": "get_weather",)"
         R"("parameters": )" +
         std::string(kWeather) + R"(}}, {"type": "function", "function": {"name": "stop",)" +
         R"("parameters": )" + kNothing + "}}]" + more + "}";
}
const std::string kRequired = R"(, "tool_choice": "required")";

/// Only the end of the prompt matters in these templates.
Chat chat_of(std::string_view format, const std::string& prompt = "") {
  return Chat({.source = "{% if add_generation_prompt %}" + prompt + "{% endif %}{# [ARGS] #}",
               .source_name = "t",
               .format = std::string(format),
               .raw = true},
              nullptr);
}

std::shared_ptr<const Grammar> grammar_of(const Chat& chat, const std::string& given) {
  return chat.answer_grammar(chat.render(given));
}

bool accepts(const Chat& chat, const std::string& given, const std::string& text) {
  return grammar_of(chat, given)->accepts(text);
}

/// Printable bytes and a few words, for short texts. Token 0 ends.
std::shared_ptr<const TokenSet> vocabulary() {
  std::vector<std::string> texts{"", "\n", "get_weather", "<", ">"};
  for (int b = 0x20; b < 0x7F; ++b) texts.push_back(std::string(1, static_cast<char>(b)));
  for (int b = 0x80; b < 0x100; ++b) texts.push_back(std::string(1, static_cast<char>(b)));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return std::make_shared<const TokenSet>(views, std::vector<Token>{0});
}

/// Text of random tokens that the grammar allows, in ASCII unless only other tokens fit.
std::string random_text(const std::shared_ptr<const Grammar>& grammar,
                        const std::shared_ptr<const TokenSet>& tokens, uint32_t seed) {
  GrammarMatcher matcher(std::make_shared<const TokenMasks>(grammar, tokens));
  matcher.set_token_limit(700);
  std::mt19937 random(seed);
  std::string text;
  while (!matcher.is_ended()) {
    const auto mask = matcher.mask(true);
    std::vector<Token> plain, all;
    for (size_t t = 0; t < tokens->size(); ++t) {
      if ((mask[t / 64] >> (t % 64) & 1) == 0) continue;
      const auto token = static_cast<Token>(t);
      all.push_back(token);
      const std::string_view bytes = tokens->text(token);
      if (bytes.empty() || static_cast<uint8_t>(bytes[0]) < 0x80) plain.push_back(token);
    }
    const std::vector<Token>& from = plain.empty() ? all : plain;
    if (from.empty()) throw std::runtime_error("a dead end after " + text);
    const Token token = from[random() % from.size()];
    matcher.accept(token);
    text += tokens->text(token);
  }
  return text;
}

const std::vector<std::string> kFamilies = {
    "hermes",     "apertus",       "command-r",     "nemotron",    "deepseek-v3", "deepseek-v3.1",
    "kimi-k2",    "deepseek-v3.2", "deepseek-v4.1", "glm",         "granite-3",   "llama3",
    "minimax-m2", "mistral",       "minimax-m1",    "qwen3-coder", "seed",        "gemma",
    "gemma-4",    "harmony",       "lfm2",          "olmo-3",      "llama4",      "phi-4",
    "apriel",     "hunyuan",       "firefunction",  "gigachat",    "functionary", "command-r-plus",
    "kimi-k3",    "minimax-m3",    "minicpm-5",     "solar-open",  "hy3",         "muse"};

TEST(AnswerGrammar, WhatIsRequiredIsReadAsCallsThatObeyTheSchema) {
  const auto arguments = Grammar::compile(GrammarKind::JsonSchema, kWeather);
  const auto tokens = vocabulary();
  for (const std::string& family : kFamilies) {
    const Chat chat = chat_of(family);
    const ChatPrompt prompt = chat.render(conversation(kRequired));
    const auto grammar = chat.answer_grammar(prompt);
    ASSERT_NE(grammar, nullptr) << family;
    for (uint32_t seed = 0; seed < 4; ++seed) {
      const std::string text = random_text(grammar, tokens, seed);
      ReplyParser parser = chat.make_parser(prompt);
      parser.push(text);
      parser.finish();
      const ReplyMessage& message = parser.message();
      ASSERT_FALSE(message.calls.empty()) << family << ": " << text;
      EXPECT_EQ(message.content, "") << family << ": " << text;
      for (const ReplyCall& call : message.calls) {
        if (call.name == "stop") {
          EXPECT_EQ(call.arguments.substr(0, 1), "{") << family << ": " << text;
          continue;
        }
        EXPECT_EQ(call.name, "get_weather") << family << ": " << text;
        EXPECT_TRUE(arguments->accepts(call.arguments)) << family << ": " << call.arguments;
      }
    }
  }
}

/// Conversation with many tools, all different if `distinct`.
std::string many_tools(size_t count, bool distinct) {
  std::string tools;
  for (size_t i = 0; i < count; ++i) {
    const std::string n = std::to_string(i), own = distinct ? n : "";
    tools += (i > 0 ? "," : "") + (R"({"function": {"name": "tool_)" + n +
                                   R"(", "parameters": {"type": "object", "properties": {
                "mail": {"type": "string", "format": "email"},
                "host)" + own + R"(": {"type": "string", "format": "hostname"},
                "slug": {"type": "string", "pattern": "^[a-z]+-)" +
                                   own + R"([a-z]*$", "maxLength": )" +
                                   std::to_string(distinct ? 100 + i : 100) + R"(},
                "page": {"type": "integer", "minimum": 1, "maximum": )" +
                                   std::to_string(distinct ? 1000 + i : 1000) + R"(}},
                "required": ["page"], "additionalProperties": false}}})");
  }
  return R"({"messages": [], "tool_choice": "required", "tools": [)" + tools + "]}";
}

TEST(AnswerGrammar, LimitsAreThoseOfOneTool) {
  const Chat chat = chat_of("hermes");
  const std::string given = many_tools(200, true);
  const auto call = [](const std::string& name, const std::string& arguments) {
    return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments +
           "}\n</tool_call>";
  };
  const auto grammar = grammar_of(chat, given);
  EXPECT_TRUE(grammar->accepts(call("tool_137", R"({"slug": "ab-137c", "page": 1137})")));
  EXPECT_FALSE(grammar->accepts(call("tool_137", R"({"slug": "ab-137c", "page": 1138})")));
  EXPECT_FALSE(grammar->accepts(call("tool_136", R"({"slug": "ab-137c", "page": 1})")));
  EXPECT_FALSE(grammar->accepts(call("tool_200", R"({"page": 1})")));
  EXPECT_TRUE(grammar->accepts(
      call("tool_3", R"({"page": 1})") + "\n" +
      call("tool_199", R"({"mail": "a@example.com", "host199": "b.example", "page": 2})")));
  // The message names the tool with the invalid schema.
  std::string wrong = given;
  const size_t at = wrong.find("1150}");
  wrong.replace(at, 4, "\"x\"");
  try {
    (void)grammar_of(chat, wrong);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::Grammar);
    EXPECT_THAT(error.what(), testing::HasSubstr("tool \"tool_150\""));
    EXPECT_THAT(error.what(), testing::HasSubstr("/properties/page/maximum"));
  }
}

// Each schema is compiled once, in whatever list it appears.
TEST(AnswerGrammar, CompilesOnlyTheToolsThatAreNew) {
  const auto call = [](const std::string& name, const std::string& arguments) {
    return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments +
           "}\n</tool_call>";
  };
  const Chat chat = chat_of("hermes");
  const grammar::KeptParts& parts = chat.grammars().parts();
  const std::string given = many_tools(200, true);
  (void)grammar_of(chat, given);
  EXPECT_EQ(parts.num_schemas_made(), 200u);
  const size_t dfas = parts.num_dfas_made();
  std::string changed = given;
  const size_t at = changed.find("1150}");
  changed.replace(at, 4, "7777");
  const auto grammar = grammar_of(chat, changed);
  EXPECT_EQ(parts.num_schemas_made(), 201u) << "199 are known";
  EXPECT_EQ(parts.num_dfas_made(), dfas) << "its pattern and formats are known too";
  EXPECT_TRUE(grammar->accepts(call("tool_150", R"({"page": 7777})")));
  EXPECT_FALSE(grammar->accepts(call("tool_150", R"({"page": 7778})")));
  EXPECT_FALSE(grammar->accepts(call("tool_149", R"({"page": 7777})")));
  EXPECT_TRUE(grammar->accepts(call("tool_149", R"({"slug": "a-149", "page": 1149})")));
  (void)grammar_of(chat, many_tools(100, true));
  EXPECT_EQ(parts.num_schemas_made(), 201u) << "a shorter list has nothing new";
  const Chat other = chat_of("hermes");
  EXPECT_EQ(other.grammars().parts().num_schemas_made(), 0u) << "chats share nothing";
  // A refused schema is not cached; it is refused again with its place.
  std::string wrong = given;
  wrong.replace(at, 4, "\"x\"");
  for (int i = 0; i < 2; ++i) EXPECT_THROW((void)grammar_of(chat, wrong), Error);
  EXPECT_EQ(parts.num_schemas_made(), 201u);
}

// Families that name each parameter compile a schema per non-string parameter.
TEST(AnswerGrammar, CompilesOnlyTheParametersThatAreNew) {
  const Chat chat = chat_of("qwen3-coder");
  const grammar::KeptParts& parts = chat.grammars().parts();
  std::string given = many_tools(50, true);
  (void)grammar_of(chat, given);
  EXPECT_EQ(parts.num_schemas_made(), 50u);
  given.replace(given.find("1049}"), 4, "7777");
  (void)grammar_of(chat, given);
  EXPECT_EQ(parts.num_schemas_made(), 51u);
}

TEST(AnswerGrammar, EqualPartsAreWrittenOnce) {
  for (const char* family : {"hermes", "qwen3-coder"}) {
    const Chat chat = chat_of(family);
    const auto states = [&](size_t count) {
      return grammar_of(chat, many_tools(count, false))->automaton()->num_states();
    };
    const uint32_t one = states(1), many = states(100);
    EXPECT_LT(many, 2 * one + 100 * 400) << family;
    EXPECT_LT(many - one, 100 * one / 3) << family;
  }
}

// A warm cache does not change the result.
TEST(AnswerGrammar, IsTheSameWithAWarmCache) {
  const auto tokens = vocabulary();
  const std::string given = many_tools(5, true);
  const Chat first = chat_of("hermes"), second = chat_of("hermes");
  (void)grammar_of(second, many_tools(7, true));
  for (uint32_t seed = 0; seed < 3; ++seed) {
    const std::string cold = random_text(grammar_of(first, given), tokens, seed);
    EXPECT_EQ(random_text(grammar_of(second, given), tokens, seed), cold);
    EXPECT_EQ(random_text(grammar_of(second, given), tokens, seed), cold);
  }
}

// Parameters of every kind: non-strings, optional strings, nested lists and objects.
constexpr const char* kMixed = R"({"type": "object", "properties": {
    "note": {"type": ["string", "null"]}, "size": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
    "mode": {"enum": ["1", "2"]}, "level": {"enum": [1, null]},
    "when": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
    "near": {"$ref": "#/$defs/place"}},
    "required": ["note", "size", "tags", "mode", "level", "when", "near"],
    "additionalProperties": false, "$defs": {"place": {"type": "object", "properties": {
    "sea": {"type": "boolean"}, "name": {"type": "string"}, "in": {"$ref": "#/$defs/place"}},
    "required": ["sea"], "additionalProperties": false}}})";

TEST(AnswerGrammar, ParametersOfEveryKindObeyTheSchema) {
  const auto arguments = Grammar::compile(GrammarKind::JsonSchema, kMixed);
  const auto tokens = vocabulary();
  const std::string given = R"({"messages": [], "tool_choice": "required", "parallel_tool_calls": )"
                            R"(false, "tools": [{"function": {"name": "get", "parameters": )" +
                            std::string(kMixed) + "}}]}";
  for (const std::string& family :
       std::vector<std::string>{"hermes", "qwen3-coder", "glm", "minimax-m2", "seed", "lfm2",
                                "deepseek-v3.2", "deepseek-v4.1", "gemma", "gemma-4", "kimi-k3",
                                "minimax-m3", "minicpm-5", "hy3", "muse"}) {
    const Chat chat = chat_of(family);
    const ChatPrompt prompt = chat.render(given);
    const auto grammar = chat.answer_grammar(prompt);
    for (uint32_t seed = 0; seed < 3; ++seed) {
      const std::string text = random_text(grammar, tokens, seed);
      ReplyParser parser = chat.make_parser(prompt);
      parser.push(text);
      parser.finish();
      ASSERT_EQ(parser.message().calls.size(), 1u) << family << ": " << text;
      EXPECT_TRUE(arguments->accepts(parser.message().calls[0].arguments))
          << family << ": " << text << "\n"
          << parser.message().calls[0].arguments;
    }
  }
}

TEST(AnswerGrammar, LineBreaksOfAFamilyMayBeLeftOut) {
  const std::string call = "{\"name\": \"stop\", \"arguments\": {}}";
  for (const std::string& text : std::vector<std::string>{
           "<tool_call>\n" + call + "\n</tool_call>\n", "<tool_call>" + call + "</tool_call>"}) {
    EXPECT_TRUE(accepts(chat_of("hermes"), conversation(kRequired), text)) << text;
  }
  EXPECT_TRUE(accepts(chat_of("glm"), conversation(kRequired), "<tool_call>stop</tool_call>"));
  EXPECT_TRUE(accepts(chat_of("glm"), conversation(kRequired), "<tool_call>stop\n</tool_call>"));
}

TEST(AnswerGrammar, WhatThePromptHasOpenedIsNotWrittenAgain) {
  const std::string response = "<|open|>response<|sep|>", closed = "<|close|>response<|sep|>";
  const std::string call =
      "<|open|>tools<|sep|><|open|>call tool=\"stop\" index=\"1\"<|sep|>"
      "<|close|>call<|sep|><|close|>tools<|sep|>";
  const std::string schema =
      R"(, "tool_choice": "none", "response_format": {"type": "json_object"})";
  for (const bool opened : {false, true}) {
    const Chat chat = chat_of("kimi-k3", opened ? response : "");
    EXPECT_EQ(accepts(chat, conversation(schema), "{}"), opened);
    EXPECT_EQ(accepts(chat, conversation(schema), response + "{}"), !opened);
    EXPECT_EQ(accepts(chat, conversation(kRequired), closed + call), opened);
    EXPECT_EQ(accepts(chat, conversation(kRequired), response + closed + call), !opened);
  }
}

TEST(AnswerGrammar, CallsMayEndTheReasoning) {
  const Chat chat = chat_of("qwen3-coder", "<think>\n");
  const std::string call = "<function=stop>\n</function>\n</tool_call>";
  for (const std::string& more : {kRequired, std::string()}) {
    EXPECT_TRUE(accepts(chat, conversation(more), "hm\n<tool_call>\n" + call));
    EXPECT_TRUE(accepts(chat, conversation(more), "hm</think>\n<tool_call>\n" + call));
    EXPECT_FALSE(accepts(chat, conversation(more), "hm <tool_call> no</think>"));
  }
  // The outer tag is optional.
  EXPECT_TRUE(accepts(chat, conversation(), "hm</think>\n" + call));
  EXPECT_FALSE(accepts(chat, conversation(), "hm</think>\n<function=other>\n</function>"));
}

TEST(AnswerGrammar, IdsAreWrittenWhereTheTemplateReadsThem) {
  const auto mistral = [](const std::string& mark) {
    return Chat({.source = "{# [TOOL_CALLS] " + mark + " #}", .source_name = "t", .raw = true},
                nullptr);
  };
  EXPECT_TRUE(accepts(mistral("[ARGS][CALL_ID]"), conversation(kRequired),
                      "[TOOL_CALLS]stop[CALL_ID]aB3456789[ARGS]{}"));
  EXPECT_FALSE(accepts(mistral("[ARGS][CALL_ID]"), conversation(kRequired),
                       "[TOOL_CALLS]stop[CALL_ID]a[ARGS]{}"));
  EXPECT_TRUE(accepts(mistral("[ARGS]"), conversation(kRequired), "[TOOL_CALLS]stop[ARGS]{}"));
  EXPECT_TRUE(accepts(mistral(""), conversation(kRequired),
                      "[TOOL_CALLS][{\"name\": \"stop\", \"arguments\": {}, \"id\": "
                      "\"abcdefgh0\"}]"));
}

TEST(AnswerGrammar, FreeTextUntilACallBegins) {
  const Chat hermes = chat_of("hermes");
  const std::string call =
      "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\", \"days\": 2}}\n"
      "</tool_call>";
  for (const char* text : {"", "Hello", "a < b <tool <tool_", "\xC3\xA4"}) {
    EXPECT_TRUE(accepts(hermes, conversation(), text)) << text;
    EXPECT_TRUE(accepts(hermes, conversation(), text + call)) << text;
    EXPECT_FALSE(accepts(hermes, conversation(kRequired), text)) << text;
  }
  EXPECT_TRUE(accepts(hermes, conversation(), call + "\n" + call));
  EXPECT_FALSE(
      accepts(hermes, conversation(R"(, "parallel_tool_calls": false)"), call + "\n" + call));
  EXPECT_TRUE(accepts(hermes, conversation(kRequired), call));
  for (const char* text :
       {"<tool_call>", "<<tool_call>x", "Well <tool_call>\n{\"name\": \"other\"",
        "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": 1}}"}) {
    EXPECT_FALSE(accepts(hermes, conversation(), text)) << text;
    EXPECT_FALSE(accepts(hermes, conversation(), text + std::string("\n</tool_call>"))) << text;
  }
  const std::string named =
      R"(, "tool_choice": {"type": "function", "function": {"name": "stop"}})";
  EXPECT_FALSE(accepts(hermes, conversation(named), call));
  EXPECT_TRUE(accepts(hermes, conversation(named),
                      "<tool_call>\n{\"name\": \"stop\", \"arguments\": {}}\n</tool_call>"));
  const std::string none = R"(, "tool_choice": "none")";
  EXPECT_TRUE(accepts(hermes, conversation(none), "Well, <tool_cal"));
  EXPECT_FALSE(accepts(hermes, conversation(none), "Well, <tool_call>"));
  EXPECT_EQ(grammar_of(hermes, R"({"messages": []})"), nullptr);
}

TEST(AnswerGrammar, OneThatIsOnlyMeantAtTheBegin) {
  const Chat llama = chat_of("llama3");
  const std::string call = "{\"name\": \"stop\", \"parameters\": {}}";
  EXPECT_TRUE(accepts(llama, conversation(), call));
  EXPECT_TRUE(accepts(llama, conversation(), "As JSON: {\"name\": 1}"));
  EXPECT_TRUE(accepts(llama, conversation(), "{\"names\": 1}"));
  EXPECT_FALSE(accepts(llama, conversation(), "{\"name\": 1}"));
  EXPECT_FALSE(accepts(llama, conversation(), "\n{\"name\": 1}"));
}

TEST(AnswerGrammar, ReasoningComesFirst) {
  const std::string call = "<tool_call>\n{\"name\": \"stop\", \"arguments\": {}}\n</tool_call>";
  const std::string doubt = "I could write <tool_call> now.";
  // The prompt has opened the reasoning.
  const Chat opened = chat_of("hermes", "<think>\n");
  EXPECT_TRUE(accepts(opened, conversation(kRequired), doubt + "</think>\n\n" + call));
  EXPECT_FALSE(accepts(opened, conversation(kRequired), call));
  EXPECT_TRUE(accepts(opened, conversation(), doubt));
  EXPECT_TRUE(accepts(opened, conversation(), doubt + "</think>Fine."));
  EXPECT_FALSE(accepts(opened, conversation(), doubt + "</think>" + doubt));
  // The prompt has closed the reasoning.
  const Chat closed = chat_of("hermes", "<think>\n\n</think>\n\n");
  EXPECT_TRUE(accepts(closed, conversation(kRequired), call));
  EXPECT_FALSE(accepts(closed, conversation(), doubt));
  // The model may open the reasoning.
  const Chat own = chat_of("hermes", "{# <think> #}");
  for (const std::string& before : {std::string(), "<think>" + doubt + "</think>\n"}) {
    EXPECT_TRUE(accepts(own, conversation(kRequired), before + call)) << before;
    EXPECT_TRUE(accepts(own, conversation(), before + "Fine." + call)) << before;
    EXPECT_FALSE(accepts(own, conversation(), before + doubt)) << before;
  }
  // The schema applies after the reasoning.
  const std::string schema = R"({"messages": [], "response_format": {"type": "json_schema",
      "json_schema": {"schema": {"type": "integer"}}}})";
  EXPECT_TRUE(accepts(opened, schema, "Hm.</think>\n12"));
  EXPECT_FALSE(accepts(opened, schema, "12"));
  EXPECT_TRUE(accepts(closed, schema, "12"));
  EXPECT_FALSE(accepts(closed, schema, "twelve"));
  EXPECT_TRUE(accepts(chat_of("harmony"), schema, "<|channel|>final<|message|>12"));
  EXPECT_TRUE(accepts(chat_of("harmony"), schema,
                      "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant"
                      "<|channel|>final<|message|>12"));
}

TEST(AnswerGrammar, RefusesWithTheToolAndThePlace) {
  const auto message_of = [](const std::string& format, const std::string& given) {
    try {
      const Chat chat = chat_of(format);
      (void)grammar_of(chat, given);
    } catch (const Error& error) {
      return std::string(code_name(error.code())) + " " + error.what();
    }
    return std::string("accepted");
  };
  const std::string head = R"({"messages": [], "tools": [{"function": {"name": ")";
  EXPECT_THAT(
      message_of("hermes", head + R"(f", "parameters": {"properties": {"a": {"type": "z"}}}}}]})"),
      testing::AllOf(testing::StartsWith("GRAMMAR"), testing::HasSubstr("\"f\""),
                     testing::HasSubstr("/properties/a")));
  EXPECT_THAT(message_of("hermes", head + R"(a\"b"}}]})"), testing::StartsWith("ARGUMENT"));
  EXPECT_THAT(message_of("plain", conversation(kRequired)), testing::StartsWith("UNSUPPORTED"));
  EXPECT_EQ(message_of("plain", conversation()), "accepted");
  EXPECT_THAT(message_of("hermes", R"({"messages": [], "response_format": {"type": "xml"}})"),
              testing::StartsWith("ARGUMENT"));
  EXPECT_THAT(
      message_of("hermes", R"({"messages": [], "response_format": {"type": "json_schema"}})"),
      testing::HasSubstr("schema"));
}

}  // namespace
}  // namespace tenon
