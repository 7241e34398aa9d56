// Responses interface beyond single answers: tools of all kinds, stored responses, events.
#include <gmock/gmock.h>

#include <string>
#include <tenon/grammar.hpp>

#include "server/protocols/response_items.h"
#include "server/protocols/response_output.h"
#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

class ResponsesTest : public ServerTest {
 protected:
  static Value body(const Value& changes = Value::object()) {
    Value body{{"model", "demo"},
               {"input", "What is the capital of Norway?"},
               {"max_output_tokens", 60},
               {"temperature", 0}};
    body.update(changes);
    return body;
  }
  static Value send(const Value& changes) {
    const Reply reply = server().post("/v1/responses", body(changes));
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.json();
  }
  static Value custom(const std::string& syntax, const std::string& definition) {
    return {{"type", "custom"},
            {"name", "write"},
            {"description", "Writes"},
            {"format", {{"type", "grammar"}, {"syntax", syntax}, {"definition", definition}}}};
  }
};

TEST(ResponseItems, ThoughtsStayWithTheTurnThatHadThem) {
  const auto thought = [](const char* text) -> Value {
    return {{"type", "reasoning"},
            {"summary", Value::array()},
            {"content", {{{"type", "reasoning_text"}, {"text", text}}}}};
  };
  const Value body{
      {"input",
       Value::array(
           {user_message("Where?")[0],
            thought("A city."),
            {{"type", "message"}, {"role", "assistant"}, {"content", "I look."}},
            thought(" Its name."),
            {{"type", "function_call"}, {"call_id", "a"}, {"name", "find"}, {"arguments", "{}"}},
            {{"type", "function_call_output"}, {"call_id", "a"}, {"output", "Oslo"}},
            thought("Cut."),
            user_message("And?")[0],
            {{"type", "message"}, {"role", "assistant"}, {"content", "Oslo."}},
            user_message("Sure?")[0]})}};
  const Value messages = read_response_request(Fields(body)).chat.messages;
  ASSERT_EQ(messages.size(), 7U);
  EXPECT_EQ(messages[1]["reasoning_content"], "A city. Its name.");
  EXPECT_EQ(messages[3]["role"], "assistant");
  EXPECT_EQ(messages[3]["reasoning_content"], "Cut.");
  EXPECT_EQ(messages[1]["tool_calls"].size(), 1U);
  for (const size_t other : {0, 2, 4, 5, 6}) {
    EXPECT_FALSE(messages[other].contains("reasoning_content"));
  }
}

// openai 7.57 for Node fails with "missing content at index 0" for a delta without its part.
TEST(ResponseOutput, ThoughtsComeInAPartAndIfWantedInASummary) {
  for (const bool summarizes : {false, true}) {
    std::vector<std::string> types;
    const auto note = [&](const char* type, const Json& members, std::string_view) {
      types.emplace_back(type);
      EXPECT_EQ(members["output_index"], 0);
    };
    ResponseOutput output({}, demo_model().tokenizer(), {.summarizes = summarizes}, note);
    for (const char* text : {"A ", "city."})
      output.add({.kind = TENON_CHAT_REASONING, .text = text});
    output.finish(false, {});
    using testing::Contains;
    EXPECT_EQ(types[1], "response.content_part.added");
    EXPECT_THAT(types, Contains("response.reasoning_text.delta").Times(2));
    EXPECT_THAT(types, Contains("response.reasoning_summary_text.delta").Times(summarizes ? 2 : 0));
    EXPECT_EQ(types.back(), "response.output_item.done");
    const Json item = parse_json(output.items().text())[0];
    EXPECT_EQ(item["content"][0]["text"], "A city.");
    EXPECT_EQ(item["summary"].size(), summarizes ? 1U : 0U);
    if (summarizes) {
      EXPECT_EQ(item["summary"][0]["text"], "A city.");
    }
  }
}

TEST_F(ResponsesTest, GrammarsThatCannotBeKeptAreRefused) {
  const auto refuses = [](const Value& tool, const std::string& param) {
    expect_refused(server().post("/v1/responses", body({{"tools", Value::array({tool})}})), param);
  };
  refuses(custom("lark", "start: part \"x\"\npart: part? \"y\""), "tools[0].format.definition");
  refuses(custom("lark", "start: pair{\"x\"}"), "tools[0].format.definition");
  refuses(custom("regex", "a(?=b)"), "tools[0].format.definition");
  refuses(custom("regex", "("), "tools[0].format.definition");
  refuses(custom("peg", "x"), "tools[0].format.syntax");
  refuses({{"type", "custom"}, {"name", "w"}, {"format", {{"type", "dance"}}}},
          "tools[0].format.type");
  refuses({{"type", "teleport"}}, "tools[0].type");
}

TEST_F(ResponsesTest, CustomToolsKeepTheirGrammarInPieces) {
  const std::string grammar =
      "start: begin hunk end\nbegin: \"*** Begin Patch\" LF\n"
      "hunk: \"*** Add File: \" /[a-z]{1,8}/ LF (\"+\" /[a-z \\\"]{0,8}/ LF)~1..2\n"
      "end: \"*** End Patch\" LF?\n%import common.LF\n";
  const Value request{{"input", "Hello"},
                      {"tools", Value::array({custom("lark", grammar)})},
                      {"tool_choice", "required"},
                      {"max_output_tokens", 200}};
  const Value answer = send(request);
  const Value& call = answer["output"][0];
  EXPECT_EQ(call["type"], "custom_tool_call");
  EXPECT_EQ(call["name"], "write");
  const std::string input = call["input"];
  EXPECT_THAT(input, testing::MatchesRegex(
                         "\\*\\*\\* Begin Patch\n\\*\\*\\* Add File: [a-z]+\n(\\+[a-z \"]*\n)+"
                         "\\*\\*\\* End Patch\n?"));
  Value streamed = body(request);
  streamed["stream"] = true;
  std::string text;
  int pieces = 0;
  for (const Value& event : events_of(server().post("/v1/responses", streamed).body)) {
    if (event["type"] == "response.custom_tool_call_input.delta") {
      text += event["delta"].get<std::string>();
      ++pieces;
    }
    if (event["type"] == "response.custom_tool_call_input.done") {
      EXPECT_EQ(event["input"], text);
    }
  }
  EXPECT_EQ(text, input);
  EXPECT_GT(pieces, 3);
}

TEST_F(ResponsesTest, CustomToolsKeepGrammarsThatRecur) {
  const std::string grammar = "start: \"\\n\" list\nlist: \"[\\\"\" (list | \"x\")* \"\\\"]\"\n";
  const Value answer = send({{"input", "Hello"},
                             {"tools", Value::array({custom("lark", grammar)})},
                             {"tool_choice", "required"},
                             {"max_output_tokens", 60}});
  const std::string input = answer["output"][0]["input"];
  EXPECT_TRUE(tenon::Grammar::lark(grammar).accepts(input)) << input;
}

TEST_F(ResponsesTest, HostedToolsAreSkippedWithANote) {
  const Value answer =
      send({{"tools",
             {{{"type", "web_search"}, {"external_web_access", false}},
              {{"type", "code_interpreter"}, {"container", {{"type", "auto"}}}}}}});
  ASSERT_EQ(answer["notes"].size(), 2u);
  EXPECT_THAT(answer["notes"][1].get<std::string>(), testing::HasSubstr("tools[1]"));
  EXPECT_EQ(answer["status"], "completed");
  EXPECT_FALSE(send(Value::object()).contains("notes"));
}

TEST_F(ResponsesTest, GoOnFromStoredOnes) {
  const Value weather{{"type", "function"},
                      {"name", "get_weather"},
                      {"parameters",
                       {{"type", "object"},
                        {"properties", {{"city", {{"type", "string"}}}}},
                        {"required", {"city"}}}}};
  const Value first =
      send({{"input", "What is the weather in Lima?"}, {"tools", Value::array({weather})}});
  ASSERT_EQ(first["output"][0]["type"], "function_call") << first;
  const Value output{{"type", "function_call_output"},
                     {"call_id", first["output"][0]["call_id"]},
                     {"output", "sunny"}};
  const Value second = send({{"previous_response_id", first["id"]},
                             {"input", Value::array({output})},
                             {"tools", Value::array({weather})}});
  EXPECT_EQ(second["previous_response_id"], first["id"]);
  // Equals the answer to the whole history.
  const Value whole = send({{"input",
                             {{{"role", "user"}, {"content", "What is the weather in Lima?"}},
                              first["output"][0],
                              output}},
                            {"tools", Value::array({weather})}});
  EXPECT_EQ(second["output"][0]["content"], whole["output"][0]["content"]);
  EXPECT_EQ(second["usage"]["input_tokens"], whole["usage"]["input_tokens"]);
  // A third response continues the second; each can be read and deleted.
  const Value third = send({{"previous_response_id", second["id"]},
                            {"input", "Thanks"},
                            {"tools", Value::array({weather})}});
  EXPECT_GT(third["usage"]["input_tokens"], second["usage"]["input_tokens"]);
  const std::string path = "/v1/responses/" + first["id"].get<std::string>();
  EXPECT_EQ(server().get(path).json(), first);
  EXPECT_EQ(HttpClient(server().port()).request("DELETE", path).json()["deleted"], true);
  EXPECT_EQ(server().get(path).status, 404);
  expect_refused(server().post("/v1/responses", body({{"previous_response_id", first["id"]}})),
                 "previous_response_id");
  const Value kept = send({{"store", false}});
  EXPECT_EQ(kept["store"], false);
  EXPECT_EQ(server().get("/v1/responses/" + kept["id"].get<std::string>()).status, 404);
}

TEST_F(ResponsesTest, AreOfTheClientThatAsked) {
  HttpClient client(server().port());
  const Value made = client
                         .request("POST", "/v1/responses", body(Value::object()).dump(),
                                  "Authorization: Bearer anna\r\n")
                         .json();
  const std::string path = "/v1/responses/" + made["id"].get<std::string>();
  // The other header identifies the client by the key as well.
  EXPECT_EQ(client.request("GET", path, "", "x-api-key: anna\r\n").json(), made);
  EXPECT_EQ(client.request("GET", path, "", "x-api-key: bert\r\n").status, 404);
  EXPECT_EQ(client.request("GET", path).status, 404);
}

}  // namespace
}  // namespace tenon_http::test
