// Fields in the spellings of other servers' clients: words for "none", forms of logit_bias and
// response_format, stop tokens.
#include <gmock/gmock.h>

#include <string>

#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class SpellingsTest : public ServerTest {
 protected:
  static Value ask(const Value& changes = Value::object(), const char* path = kChat) {
    const Reply reply = server().post(path, capital_chat(changes));
    EXPECT_EQ(reply.status, 200) << changes << reply.body;
    return reply.json();
  }
  static std::string text_of(const Value& answer) {
    return answer["choices"][0]["message"]["content"].get<std::string>();
  }
  static void refuses(const Value& changes, const std::string& param) {
    expect_refused(server().post(kChat, capital_chat(changes)), param);
  }
};

TEST_F(SpellingsTest, NoLimitIsSaidInManyWays) {
  const std::string whole = text_of(ask({{"max_tokens", 200}}));
  for (const Value& none : {Value(-1), Value(0), Value(nullptr), Value("")}) {
    EXPECT_EQ(text_of(ask({{"max_tokens", none}})), whole) << none;
    EXPECT_EQ(text_of(ask({{"max_tokens", nullptr}, {"max_completion_tokens", none}})), whole);
    const Reply response = server().post(
        "/v1/responses", {{"model", "demo"}, {"input", "Hi"}, {"max_output_tokens", none}});
    EXPECT_EQ(response.status, 200) << none << response.body;
  }
  const Reply completion = server().post("/v1/completions", {{"model", "demo"},
                                                             {"prompt", "Once"},
                                                             {"temperature", 0},
                                                             {"max_tokens", -1},
                                                             {"stop", "."}});
  ASSERT_EQ(completion.status, 200) << completion.body;
  EXPECT_GT(completion.json()["usage"]["completion_tokens"], 5);
  refuses({{"max_tokens", -2}}, "max_tokens");
}

TEST_F(SpellingsTest, EmptyTextsAreNoNumbersAndNoStops) {
  (void)ask({{"stop", ""}, {"seed", ""}, {"top_k", ""}, {"temperature", ""}, {"guided_regex", ""}});
  for (const Value& seed : {Value(-1), Value("random")}) (void)ask({{"seed", seed}});
  refuses({{"seed", "x"}}, "seed");
  refuses({{"stop", Value::array({""})}}, "stop");
  expect_refused(
      server().post("/v1/messages",
                    {{"model", "demo"}, {"messages", user_message("Hi")}, {"max_tokens", ""}}),
      "max_tokens");
}

TEST_F(SpellingsTest, BiasesOfTextsAndPairsAreTaken) {
  EXPECT_THAT(text_of(ask()), HasSubstr("Oslo"));
  for (const Value& ban : {Value{{" Oslo", -100}, {"Oslo", -100}},
                           Value::array({{" Oslo", false}, {"Oslo", false}})}) {
    EXPECT_THAT(text_of(ask({{"logit_bias", ban}})), Not(HasSubstr("Oslo"))) << ban;
  }
  const Value tokens =
      server().post("/tokenize", {{"model", "demo"}, {"prompt", " Oslo"}}).json()["tokens"];
  const Value pairs = Value::array({{tokens.back(), -100}});
  EXPECT_THAT(text_of(ask({{"logit_bias", pairs}})), Not(HasSubstr(" Oslo")));
  refuses({{"logit_bias", {1, 2}}}, "logit_bias");
  refuses({{"logit_bias", {{" Oslo", "much"}}}}, "logit_bias");
  refuses({{"logit_bias", {{" Oslo", true}}}}, "logit_bias");
  refuses({{"logit_bias", Value::array({Value::array({-1, 5})})}}, "logit_bias");
}

TEST_F(SpellingsTest, BiasesThatBanAllAreTheClientsError) {
  Value all = Value::object();
  for (size_t token = 0; token < demo_model().tokenizer().size(); ++token) {
    all[std::to_string(token)] = -100;
  }
  refuses({{"logit_bias", all}}, "logit_bias");
  // Ban all tokens that the grammar leaves, which fails only at the draw.
  Value digits = Value::array();
  for (const char digit : std::string("0123456789")) {
    digits.push_back({std::string(1, digit), false});
  }
  refuses({{"logit_bias", digits}, {"guided_regex", "[0-9]"}}, "logit_bias");
}

TEST_F(SpellingsTest, TokensEndAnAnswer) {
  const Value tokens =
      server().post("/tokenize", {{"model", "demo"}, {"prompt", " Oslo"}}).json()["tokens"];
  const Value stops{{"stop_token_ids", tokens}};
  const Value answer = ask(stops);
  EXPECT_THAT(text_of(answer), Not(HasSubstr("Oslo")));
  EXPECT_FALSE(text_of(answer).empty());
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  const Value with_logprobs = ask({{"stop_token_ids", tokens}, {"logprobs", true}});
  std::string joined;
  for (const Value& token : with_logprobs["choices"][0]["logprobs"]["content"]) {
    joined += token["token"].get<std::string>();
  }
  EXPECT_EQ(joined, text_of(answer));
  refuses({{"stop_token_ids", {-1}}}, "stop_token_ids");
}

TEST_F(SpellingsTest, SchemasBesideJsonObjectAreKept) {
  const Value schema = Value::parse(R"({"type": "object", "properties": {"zzz": {"const": 7}},
      "required": ["zzz"], "additionalProperties": false})");
  const Value kept{{"zzz", 7}};
  for (const Value& format : {Value{{"type", "json_object"}, {"schema", schema}},
                              Value{{"type", "json_object"}, {"json_schema", {{"schema", schema}}}},
                              Value{{"type", "json_schema"}, {"schema", schema}}}) {
    EXPECT_EQ(Value::parse(text_of(ask({{"response_format", format}}))), kept) << format;
    const Value completion = server()
                                 .post("/v1/completions", {{"model", "demo"},
                                                           {"prompt", "x"},
                                                           {"response_format", format},
                                                           {"max_tokens", 30}})
                                 .json();
    EXPECT_EQ(Value::parse(completion["choices"][0]["text"].get<std::string>()), kept);
  }
  const Value flat{{"type", "json_object"}, {"schema", {{"$ref", "#/none"}}}};
  refuses({{"response_format", flat}}, "response_format.schema");
  refuses({{"response_format", {{"type", "text"}, {"schema", schema}}}}, "response_format.schema");
  refuses({{"response_format", {{"type", "json_object"}, {"grammar", "root ::= \"x\""}}}},
          "response_format.grammar");
  refuses({{"response_format",
            {{"type", "json_schema"}, {"schema", schema}, {"json_schema", {{"schema", schema}}}}}},
          "response_format.schema");
}

TEST_F(SpellingsTest, AnswersTellWhatComputedThem) {
  const std::string fingerprint = ask()["system_fingerprint"];
  EXPECT_THAT(fingerprint, testing::StartsWith("fp_"));
  EXPECT_EQ(ask()["system_fingerprint"], fingerprint);
}

TEST_F(SpellingsTest, TheInterfaceOfMessagesHasItsOwnRange) {
  const auto send = [](double temperature) {
    return server().post("/v1/messages", {{"model", "demo"},
                                          {"messages", user_message("Hi")},
                                          {"max_tokens", 1},
                                          {"temperature", temperature}});
  };
  EXPECT_EQ(send(1).status, 200);
  expect_refused(send(1.1), "temperature");
}

}  // namespace
}  // namespace tenon_http::test
