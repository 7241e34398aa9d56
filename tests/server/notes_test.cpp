// Notes on parts of a request that the server changed: lenient schemas, unsupported fields, dropped
// messages, and thoughts of another model.
#include <gmock/gmock.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "server/compat/lenient_schema.h"
#include "server/compat/thought_signer.h"
#include "server/compat/volatile_lines.h"
#include "server/http/http_head.h"
#include "server/protocols/chat_tools.h"
#include "server/protocols/other_fields.h"
#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const Value& unkept_schema() {
  static const Value schema = Value::parse(R"({"type": "object", "additionalProperties": false,
      "properties": {"a": {"type": "string", "pattern": "(?<=x)y"}, "b": {"type": "integer"}},
      "required": ["a", "b"]})");
  return schema;
}

TEST(LenientSchema, LeavesOutWhatHasNoGrammar) {
  std::vector<std::string> notes;
  const Value kept = lenient_schema(unkept_schema(), "schema", notes);
  EXPECT_EQ(kept["properties"]["a"], Value({{"type", "string"}}));
  EXPECT_EQ(kept["properties"]["b"], Value({{"type", "integer"}}));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("schema: #/properties/a/pattern is not kept: ")));
}

TEST(LenientSchema, FindsKeywordsOfASchemaAndItself) {
  std::vector<std::string> notes;
  const Value unique = Value::parse(
      R"({"properties": {"a~/b": {"type": "array", "uniqueItems": true, "items": {"type": "string"}}}})");
  const Value kept = lenient_schema(unique, "s", notes);
  EXPECT_EQ(kept["properties"]["a~/b"],
            Value::parse(R"({"type": "array", "items": {"type": "string"}})"));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("#/properties/a~0~1b/uniqueItems")));
  notes.clear();
  const Value of_reference =
      lenient_schema({{"$ref", "http://x/y"}, {"type", "integer"}}, "s", notes);
  EXPECT_EQ(of_reference, Value({{"type", "integer"}}));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("#/$ref")));
  notes.clear();
  const Value whole = lenient_schema({{"type", "integer"}}, "s", notes);
  EXPECT_EQ(whole, Value({{"type", "integer"}}));
  EXPECT_TRUE(notes.empty());
}

// A lenient compilation shares nothing with other tools, so only refused tools pay for one.
TEST(LenientTools, ReadsOnlyToolsThatAreRefused) {
  const auto tool = [](const char* name) {
    return Value{{"type", "function"},
                 {"function", {{"name", name}, {"parameters", unkept_schema()}}}};
  };
  const ToolUse use{.tools = {tool("kept"), tool("cut"), tool("strict")},
                    .lenient_fields = {"tools[0]", "tools[1]", ""}};
  std::vector<std::string> notes;
  std::vector<std::string> asked;
  const std::optional<Value> kept = lenient_tools(use, false, notes, [&](const Value& one) {
    asked.push_back(one["function"]["name"]);
    return asked.back() == "kept";
  });
  ASSERT_TRUE(kept);
  EXPECT_THAT(asked, ElementsAre("kept", "cut"));
  EXPECT_EQ((*kept)[0].dump(), use.tools[0].dump());
  EXPECT_NE((*kept)[1].dump(), use.tools[1].dump());
  EXPECT_EQ((*kept)[2].dump(), use.tools[2].dump());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("tools[1]: #/properties/a/pattern")));
}

// The remaining schema is compiled strictly, so a oneOf with parts left out is an anyOf there, too.
TEST(LenientSchema, TurnsOneOfIntoAnyOf) {
  std::vector<std::string> notes;
  const Value inner = Value::parse(
      R"({"oneOf": [{"format": "idn-email"}, {"type": "null"}], "anyOf": [{"minLength": 1}]})");
  const Value kept = lenient_schema({{"oneOf", {inner, true}}}, "s", notes);
  EXPECT_EQ(kept, Value::parse(R"({"anyOf": [{"anyOf": [{"minLength": 1}],
      "allOf": [{"anyOf": [{}, {"type": "null"}]}]}, true]})"));
  EXPECT_EQ(notes.size(), 3u);
  EXPECT_THAT(notes, testing::Contains(HasSubstr("s: #/oneOf/0/oneOf/0/format is not kept")));
  EXPECT_THAT(notes, testing::Contains(HasSubstr("is kept as anyOf")));
  // References through the list follow it.
  const Value referred = lenient_schema(Value::parse(R"({"type": "object", "properties": {
          "p": {"oneOf": [{"type": "string", "pattern": "(?<=x)y"}, {"type": "null"}]},
          "q": {"$ref": "#/properties/p/oneOf/0"}}})"),
                                        "s", notes);
  EXPECT_EQ(referred["properties"]["q"]["$ref"], "#/properties/p/anyOf/0");
}

TEST(NotesHeader, IsPrintableAndBounded) {
  EXPECT_EQ(notes_header({"a", "b\r\nX: y\xc3\xa9"}), "a; b??X: y??");
  EXPECT_EQ(notes_header({std::string(9000, 'x')}).size(), 4096u);
}

TEST(ThoughtSigner, HashesAsTheReferenceDoes) {
  // vectors_sip128 of the reference implementation, for inputs of zero bytes and one.
  const std::array<uint64_t, 2> key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  const std::array<uint64_t, 2> of_none = {0xe6a825ba047f81a3, 0x930255c71472f66d};
  const std::array<uint64_t, 2> of_one = {0x44af996bd8c187da, 0x45fc229b11597634};
  EXPECT_EQ(sip_hash(key, ""), of_none);
  EXPECT_EQ(sip_hash(key, std::string_view("\0", 1)), of_one);
}

TEST(ThoughtSigner, KnowsWhatItSigned) {
  // Regression values: the reference vectors (vectors_sip128) use another key.
  const ThoughtSigner signer("secret");
  const std::string signature = signer.sign("I think.");
  EXPECT_TRUE(signer.has_signed("I think.", signature));
  EXPECT_FALSE(signer.has_signed("I think!", signature));
  EXPECT_FALSE(signer.has_signed("I think.", signature + "0"));
  EXPECT_EQ(ThoughtSigner("secret").sign("I think."), signature);
  EXPECT_NE(ThoughtSigner("other").sign("I think."), signature);
  EXPECT_EQ(signature.size(), 7u + 32);
}

TEST(VolatileLines, TakesDatesOutWhereAgentsWriteThem) {
  const DatedText claude = without_dates(
      "user",
      "<system-reminder>\n# currentDate\nToday's date is 2026-01-31.\n\nx</system-reminder>");
  EXPECT_EQ(claude.dates, "Today's date is 2026-01-31.\n");
  EXPECT_EQ(claude.text,
            "<system-reminder>\n# currentDate\nToday's date is \n\nx</system-reminder>");
  EXPECT_EQ(without_dates("system", "  Today's date: Sat Jan 31 2026").dates,
            "Today's date: Sat Jan 31 2026\n");
  EXPECT_EQ(without_dates("user", "Today's date is 2026-01-31.").dates, "");
  EXPECT_EQ(without_dates("assistant", "<a>\nToday's date is 2026-01-31.").dates, "");
  EXPECT_EQ(without_dates("system", "").text, "");
}

class NotesTest : public ServerTest {};

TEST_F(NotesTest, LenientSchemasAreKeptAsFarAsTheyGo) {
  const auto format = [](bool strict) {
    return Value{
        {"response_format",
         {{"type", "json_schema"},
          {"json_schema", {{"name", "n"}, {"strict", strict}, {"schema", unkept_schema()}}}}},
        {"max_tokens", 100}};
  };
  const Reply strict = server().post(kChat, capital_chat(format(true)));
  expect_refused(strict, "response_format.json_schema.schema");
  EXPECT_THAT(strict.body, HasSubstr("/properties/a/pattern"));
  const Reply loose = server().post(kChat, capital_chat(format(false)));
  ASSERT_EQ(loose.status, 200) << loose.body;
  EXPECT_THAT(loose.headers.at("tenon-notes"), HasSubstr("#/properties/a/pattern"));
  EXPECT_THAT(loose.json()["notes"].dump(), HasSubstr("#/properties/a/pattern"));
  const std::string text = loose.json()["choices"][0]["message"]["content"];
  EXPECT_TRUE(Value::parse(text)["b"].is_number()) << text;  // 197.0 is an integer, too
}

// A tool is strict only with "strict": true, in every interface.
TEST_F(NotesTest, OneToolThatCannotBeKeptRefusesNothing) {
  const Value function{{"name", "f"}, {"parameters", unkept_schema()}};
  const Reply chat = server().post(
      kChat, capital_chat(
                 {{"tools", {{{"type", "function"}, {"function", function}}}}, {"max_tokens", 1}}));
  ASSERT_EQ(chat.status, 200) << chat.body;
  EXPECT_THAT(chat.headers.at("tenon-notes"), HasSubstr("tools[0].function.parameters"));
  Value flat = function;
  flat["type"] = "function";
  const Reply response = server().post(
      "/v1/responses",
      {{"model", "demo"}, {"input", "Hi"}, {"tools", {flat}}, {"max_output_tokens", 16}});
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_THAT(response.headers.at("tenon-notes"), HasSubstr("tools[0].parameters"));
  const Reply message = server().post(
      "/v1/messages", {{"model", "demo"},
                       {"max_tokens", 1},
                       {"messages", {{{"role", "user"}, {"content", "Hi"}}}},
                       {"tools", {{{"name", "f"}, {"input_schema", unkept_schema()}}}}});
  ASSERT_EQ(message.status, 200) << message.body;
  EXPECT_THAT(message.headers.at("tenon-notes"), HasSubstr("tools[0].input_schema"));
}

TEST_F(NotesTest, SchemasBesideJsonObjectAreKept) {
  const Value schema{{"type", "object"},
                     {"properties", {{"zzz", {{"const", 7}}}}},
                     {"required", {"zzz"}},
                     {"additionalProperties", false}};
  for (const Value& format : {Value{{"type", "json_object"}, {"schema", schema}},
                              Value{{"type", "json_object"}, {"json_schema", {{"schema", schema}}}},
                              Value{{"type", "json_schema"}, {"schema", schema}}}) {
    const Reply reply =
        server().post(kChat, capital_chat({{"response_format", format}, {"max_tokens", 30}}));
    ASSERT_EQ(reply.status, 200) << reply.body;
    const std::string text = reply.json()["choices"][0]["message"]["content"];
    EXPECT_EQ(Value::parse(text), Value({{"zzz", 7}})) << text;
  }
  const Value other{{"type", "json_object"}, {"grammar", "root ::= \"x\""}};
  expect_refused(server().post(kChat, capital_chat({{"response_format", other}})),
                 "response_format.grammar");
}

TEST_F(NotesTest, LooseToolsAreKeptAsFarAsTheyGo) {
  const auto tools = [](bool strict) {
    return Value{
        {"tools",
         {{{"type", "function"},
           {"function", {{"name", "f"}, {"strict", strict}, {"parameters", unkept_schema()}}}}}},
        {"tool_choice", "required"},
        {"max_tokens", 200}};
  };
  expect_refused(server().post(kChat, capital_chat(tools(true))), "tools");
  const Reply loose = server().post(kChat, capital_chat(tools(false)));
  ASSERT_EQ(loose.status, 200) << loose.body;
  EXPECT_THAT(loose.json()["notes"].dump(),
              HasSubstr("tools[0].function.parameters: #/properties/a/pattern"));
}

TEST_F(NotesTest, HostedToolsAreNotedInFieldAndHeader) {
  const Reply reply = server().post("/v1/responses", {{"model", "demo"},
                                                      {"input", "Hi"},
                                                      {"max_output_tokens", 2},
                                                      {"tools", {{{"type", "web_search"}}}}});
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_THAT(reply.headers.at("tenon-notes"), HasSubstr("web_search"));
  EXPECT_THAT(reply.json()["notes"].dump(), HasSubstr("web_search"));
}

TEST_F(NotesTest, TruncationLeavesOutTheOldest) {
  Value input = Value::array();
  for (int i = 0; i < 200; ++i) {
    input.push_back({{"role", i % 2 == 0 ? "user" : "assistant"},
                     {"content", "The quick brown fox jumps over the lazy dog, again and again."}});
  }
  input.push_back({{"role", "user"}, {"content", "What is the capital of Norway?"}});
  Value body{{"model", "demo"}, {"input", input}, {"max_output_tokens", 4}};
  expect_refused(server().post("/v1/responses", body), "input");
  body["truncation"] = "auto";
  const Reply reply = server().post("/v1/responses", body);
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_THAT(reply.json()["notes"].dump(), HasSubstr("oldest messages were left out"));
  EXPECT_LE(reply.json()["usage"]["input_tokens"], 2048 / 4 * 3);
  EXPECT_GT(reply.json()["usage"]["input_tokens"], 1024);
  body["truncation"] = "sometimes";
  expect_refused(server().post("/v1/responses", body), "truncation");
}

TEST_F(NotesTest, WrongValuesOfUnusedFieldsAreTold) {
  const Value message{{"model", "demo"}, {"max_tokens", 1}, {"messages", user_message("Hi")}};
  const Value response{{"model", "demo"}, {"input", "Hi"}, {"max_output_tokens", 1}};
  const std::vector<std::pair<const char*, std::vector<Value>>> wrong = {
      {kChat,
       {{{"user", 5}},
        {{"metadata", {{"a", 5}}}},
        {{"service_tier", "golden"}},
        {{"verbosity", "loud"}},
        {{"reasoning_effort", "some"}},
        {{"web_search_options", Value::object()}},
        {{"stop_token_ids", {-3}}},
        {{"function_call", 5}},
        {{"stream_options", {{"include_obfuscation", 5}}}},
        {{"add_generation_prompt", 5}}}},
      {"/v1/responses",
       {{{"include", {"all"}}},
        {{"max_tool_calls", 0}},
        {{"text", {{"verbosity", "loud"}}}},
        {{"reasoning", {{"effort", "some"}}}},
        {{"reasoning", {{"summary", "long"}}}}}},
      {"/v1/messages",
       {{{"thinking", {{"type", "enabled"}}}},
        {{"thinking", {{"type", "adaptive"}, {"display", "loud"}}}},
        {{"cache_control", 5}},
        {{"mcp_servers", {{{"name", "x"}}}}},
        {{"output_config", {{"effort", "some"}}}},
        {{"output_format", {{"type", "text"}}}},
        {{"system", {{{"type", "text"}, {"text", "x"}, {"cache_control", {{"type", "y"}}}}}}}}}};
  for (const auto& [path, changes] : wrong) {
    for (const Value& change : changes) {
      Value body = std::string_view(path) == kChat             ? capital_chat()
                   : std::string_view(path) == "/v1/responses" ? response
                                                               : message;
      body.update(change);
      expect_refused(server().post(path, body), change.begin().key());
    }
  }
}

TEST_F(NotesTest, RoutesThatAreNotServedSaySo) {
  const Reply batches = server().post("/v1/messages/batches", {{"requests", Value::array()}});
  EXPECT_EQ(batches.status, 404);
  EXPECT_EQ(batches.json()["type"], "error");
  EXPECT_EQ(batches.error()["type"], "not_found_error");
  EXPECT_THAT(batches.body, HasSubstr("batches"));
  EXPECT_EQ(server().post("/v1/responses/compact", {{"input", "x"}}).status, 400);
}

TEST_F(NotesTest, ResponsesTellTheirItemsAndCounts) {
  const Value body{{"model", "demo"}, {"input", "What is the capital of Norway?"}};
  const Value made = server().post("/v1/responses", body).json();
  const Value counted = server().post("/v1/responses/input_tokens", body).json();
  EXPECT_EQ(counted["input_tokens"], made["usage"]["input_tokens"]);
  const std::string path = "/v1/responses/" + made["id"].get<std::string>();
  const Value items = server().get(path + "/input_items").json();
  ASSERT_EQ(items["data"].size(), 1u) << items;
  EXPECT_EQ(items["data"][0]["content"][0]["type"], "input_text");
  EXPECT_EQ(server().get(path + "?stream=true").status, 400);
}

TEST_F(NotesTest, ItemsOfAResponseComeInPages) {
  Value input = Value::array();
  for (const char* text : {"a", "b", "c"}) input.push_back({{"role", "user"}, {"content", text}});
  const Value made = server().post("/v1/responses", {{"model", "demo"}, {"input", input}}).json();
  const std::string path = "/v1/responses/" + made["id"].get<std::string>() + "/input_items";
  const auto texts_of = [](const Value& page) {
    std::string texts;
    for (const Value& item : page["data"]) texts += item["content"][0]["text"].get<std::string>();
    return texts;
  };
  EXPECT_EQ(texts_of(server().get(path).json()), "cba");
  const Value first = server().get(path + "?order=asc&limit=2").json();
  EXPECT_EQ(texts_of(first), "ab");
  EXPECT_EQ(first["has_more"], true);
  const std::string last = first["last_id"];
  const Value second = server().get(path + "?limit=2&order=asc&after=" + last).json();
  EXPECT_EQ(texts_of(second), "c");
  EXPECT_EQ(second["has_more"], false);
  for (const char* wrong : {"limit=0", "limit=101", "limit=x", "order=up", "after=nothing"}) {
    const std::string field(wrong, std::string_view(wrong).find('='));
    expect_refused(server().get(path + "?" + wrong), field);
  }
}

TEST(Thoughts, AreSignedAndOthersAreNotedWhenTheyComeBack) {
  const tenon::Model model(
      TENON_DEMO_MODEL,
      {.threads = 2,
       .extra = {
           {"override",
            "tokenizer.chat_template=str:{%- for m in messages %}{{ '<|im_start|>' + m.role + "
            "'\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}{%- if add_generation_prompt "
            "%}{{ '<|im_start|>assistant\\n<think>\\n' }}{% endif %}"}}});
  const RunningServer server({}, true, {.model = model.get()});
  const auto ask = [&](const Value& messages, const Value& more = Value::object()) {
    Value body{{"model", "demo"}, {"max_tokens", 20}, {"temperature", 0}, {"messages", messages}};
    body.update(more);
    return server.post("/v1/messages", body);
  };
  Value messages = user_message("What is the capital of Norway?");
  const Value answer = ask(messages).json();
  Value thought = answer["content"][0];
  ASSERT_EQ(thought["type"], "thinking") << answer;
  ASSERT_FALSE(thought["thinking"].get<std::string>().empty());
  const auto come_back = [&](const Value& block) {
    Value talk = messages;
    talk.push_back(
        {{"role", "assistant"}, {"content", {block, {{"type", "text"}, {"text", "x"}}}}});
    talk.push_back({{"role", "user"}, {"content", "Go on"}});
    return ask(talk);
  };
  EXPECT_EQ(come_back(thought).status, 200);
  Value changed = thought;
  changed["thinking"] = thought["thinking"].get<std::string>() + "!";
  Value unsigned_one = thought;
  unsigned_one.erase("signature");
  Value empty = thought;
  empty["signature"] = "";
  EXPECT_THAT(come_back(thought).headers.find("tenon-notes")->second,
              Not(HasSubstr("messages[1].content[0].signature")));
  for (const Value& other : {changed, unsigned_one, empty}) {
    const Reply reply = come_back(other);
    ASSERT_EQ(reply.status, 200) << other << reply.body;
    EXPECT_THAT(reply.headers.at("tenon-notes"), HasSubstr("messages[1].content[0].signature"));
  }
  const Value omitted =
      ask(messages, {{"thinking", {{"type", "adaptive"}, {"display", "omitted"}}}}).json();
  EXPECT_EQ(omitted["content"][0]["thinking"], "");
  EXPECT_EQ(come_back(omitted["content"][0]).status, 200);
}

}  // namespace
}  // namespace tenon_http::test
