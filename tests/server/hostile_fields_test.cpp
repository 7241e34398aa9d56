// Wrong values everywhere: each part of a request of each endpoint is replaced by values of other kinds. The
// answer is then what is right, or a 4xx that names a field; never a 5xx, and never silence.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

using testing::HasSubstr;

struct Endpoint {
  const char* path;
  const char* body;  ///< one that is right, with every field that is read
};

/// Of a model that generates text; embeddings are refused for it, with `param` as well.
const std::vector<Endpoint>& endpoints() {
  static const std::vector<Endpoint> list = {
      {"/v1/chat/completions",
       R"({"model": "demo", "messages": [{"role": "system", "content": "Be short."},
            {"role": "user", "content": [{"type": "text", "text": "Where is it cold?"}]},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function",
              "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": "4"}],
           "tools": [{"type": "function", "function": {"name": "weather", "description": "d",
              "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}],
           "tool_choice": "auto", "parallel_tool_calls": true, "max_tokens": 1, "n": 1, "temperature": 0,
           "top_p": 1, "top_k": 5, "min_p": 0, "seed": 1, "stop": ["x"], "presence_penalty": 0,
           "frequency_penalty": 0, "logit_bias": {"5": 1}, "logprobs": true, "top_logprobs": 1,
           "stream": false, "chat_template_kwargs": {"a": 1}, "reasoning_effort": "low",
           "modalities": ["text"]})"},
      {"/v1/chat/completions",
       R"({"model": "demo", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1, "stream": true,
           "stream_options": {"include_usage": true}, "response_format": {"type": "json_schema",
             "json_schema": {"name": "n", "strict": true, "schema": {"type": "object",
               "properties": {"a": {"type": "integer"}}, "required": ["a"]}}}})"},
      {"/v1/completions",
       R"({"model": "demo", "prompt": ["a", "b"], "max_tokens": 1, "n": 1, "best_of": 1, "echo": false,
           "logprobs": 1, "temperature": 0, "top_p": 1, "seed": 1, "stop": "x", "stream": false,
           "presence_penalty": 0, "frequency_penalty": 0, "logit_bias": {"5": 1}})"},
      {"/v1/messages",
       R"({"model": "demo", "max_tokens": 1, "system": [{"type": "text", "text": "Be short."}],
           "messages": [{"role": "user", "content": "Hi"},
             {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "weather",
               "input": {"city": "Oslo"}}]},
             {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "4"}]}],
           "tools": [{"name": "weather", "description": "d", "input_schema": {"type": "object"}}],
           "tool_choice": {"type": "auto"}, "temperature": 0, "top_p": 1, "top_k": 5,
           "stop_sequences": ["x"], "stream": false, "thinking": {"type": "disabled"}})"},
      {"/v1/messages/count_tokens",
       R"({"model": "demo", "system": "s", "messages": [{"role": "user", "content": "Hi"}],
           "tools": [{"name": "weather", "input_schema": {"type": "object"}}]})"},
      {"/v1/responses",
       R"({"model": "demo", "instructions": "Be short.", "max_output_tokens": 1, "temperature": 0, "top_p": 1,
           "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
             {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"},
             {"type": "function_call_output", "call_id": "c1", "output": "4"}],
           "tools": [{"type": "function", "name": "weather", "parameters": {"type": "object"}}],
           "tool_choice": "auto", "parallel_tool_calls": true, "stream": false})"},
      {"/v1/embeddings",
       R"({"model": "demo", "input": ["a"], "encoding_format": "float", "dimensions": 4})"},
      {"/v1/rerank",
       R"({"model": "demo", "query": "a", "documents": ["b", {"text": "c"}], "top_n": 1})"},
      {"/v1/score", R"({"model": "demo", "text_1": "a", "text_2": ["b"]})"},
      {"/v1/decisions",
       R"({"model": "demo", "input": "The fox is red.", "questions": [
            {"type": "predicate", "name": "red", "instructions": "Is it red?", "labels": ["Yes", "No"]},
            {"type": "choice", "instructions": [{"type": "input_text", "text": "Which?"}],
             "choices": [{"value": "fox", "description": "d"}, {"value": "cat"}]},
            {"type": "score", "instructions": "How red?",
             "levels": [{"label": "1", "description": "d", "value": 0}, {"label": "5", "value": 1}]}]})"},
      {"/v1/responses/input_tokens",
       R"({"model": "demo", "instructions": "Be short.", "input": "Hi",
           "tools": [{"type": "function", "name": "weather", "parameters": {"type": "object"}}]})"},
      {"/tokenize",
       R"({"model": "demo", "prompt": "Hi", "add_special_tokens": true, "add_special": true,
           "parse_special": false})"},
      {"/v1/tokenize", R"({"model": "demo", "messages": [{"role": "user", "content": "Hi"}]})"},
      {"/detokenize", R"({"model": "demo", "tokens": [1, 2]})"},
  };
  return list;
}

const std::vector<Value>& wrong_values() {
  static const std::vector<Value> list = {Value::array(),
                                          Value::object(),
                                          Value::array({Value::array({1})}),
                                          {{"a", {{"b", 1}}}},
                                          "",
                                          "text",
                                          "\xff\xfe",
                                          -1,
                                          7.5,
                                          1e300,
                                          true,
                                          uint64_t{1} << 63};
  return list;
}

/// Calls `visit` with the place of each part of a document, the document itself among them.
template <typename Visit>
void each_part(const Value& value, const Value::json_pointer& place, Visit visit) {
  visit(place);
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) each_part(member, place / key, visit);
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) each_part(value[i], place / i, visit);
  }
}

class HostileFieldsTest : public ServerTest {
 protected:
  /// Expects what is right, or a refusal that names a field in the form of its interface.
  static void expect_answer(const Reply& reply, const Endpoint& endpoint, const std::string& what) {
    EXPECT_TRUE(reply.status == 200 || reply.status == 400 || reply.status == 404)
        << endpoint.path << " " << what << ": " << reply.status << " " << reply.body;
    if (reply.status != 400) return;
    const Value error = reply.error();
    EXPECT_TRUE(error.contains("message") && error["message"].is_string()) << reply.body;
    const bool is_anthropic = std::string_view(endpoint.path).starts_with("/v1/messages");
    if (is_anthropic) {
      EXPECT_EQ(reply.json().value("type", ""), "error") << reply.body;
    } else {
      EXPECT_TRUE(error.contains("param")) << endpoint.path << " " << what << " " << reply.body;
    }
  }

  static std::string text_of(const Value& value) {
    return value.dump(-1, ' ', false, Value::error_handler_t::ignore);
  }
};

TEST_F(HostileFieldsTest, RightRequestsAreServed) {
  for (const Endpoint& endpoint : endpoints()) {
    const Reply reply = server().post(endpoint.path, Value::parse(endpoint.body));
    const std::string_view path = endpoint.path;
    const bool is_of_embedders =
        path == "/v1/embeddings" || path == "/v1/rerank" || path == "/v1/score";
    EXPECT_EQ(reply.status, is_of_embedders ? 400 : 200) << path << reply.body;
  }
}

TEST_F(HostileFieldsTest, EveryPartMayBeOfAnotherKind) {
  HttpClient client(server().port());
  size_t refused = 0;
  size_t asked = 0;
  for (const Endpoint& endpoint : endpoints()) {
    const Value right = Value::parse(endpoint.body);
    each_part(right, Value::json_pointer(), [&](const Value::json_pointer& place) {
      for (const Value& wrong : wrong_values()) {
        Value body = right;
        body[place] = wrong;
        const Reply reply = client.request("POST", endpoint.path, text_of(body));
        expect_answer(reply, endpoint, place.to_string() + " = " + text_of(wrong));
        ++asked;
        refused += reply.status == 400 ? 1 : 0;
      }
    });
  }
  EXPECT_GT(asked, 1500u);
  EXPECT_GT(refused, asked / 2) << "of " << asked;
}

TEST_F(HostileFieldsTest, NoFieldTakesAnObjectOfNothingKnown) {
  const Value nothing{{"\xf0\x9f\xa6\x84", {{"b", Value::array()}}}};
  for (const Endpoint& endpoint : endpoints()) {
    const Value right = Value::parse(endpoint.body);
    for (const auto& [field, value] : right.items()) {
      if (field == "chat_template_kwargs" || field == "stream_options") continue;  // are objects
      Value body = right;
      body[field] = nothing;
      const Reply reply = server().post(endpoint.path, body);
      EXPECT_EQ(reply.status, 400) << endpoint.path << " " << field << " " << reply.body;
      if (reply.error().contains("param")) {
        EXPECT_THAT(reply.error()["param"].dump(),
                    testing::AnyOf(HasSubstr(field), HasSubstr("model")))
            << endpoint.path << " " << reply.body;
      }
    }
  }
}

TEST_F(HostileFieldsTest, BodiesThatAreNoJsonAre400Everywhere) {
  std::string deep = R"({"model":"demo","messages":)";
  deep.append(1'000'000, '[');
  std::string deep_objects = R"({"model":"demo","input":)";
  for (int i = 0; i < 200'000; ++i) deep_objects += R"({"a":)";
  std::string wide = R"({"model":"demo","tools":[)";
  for (int i = 0; i < 3'000'000; ++i) wide += "0,";
  const std::vector<std::string> bodies = {"",
                                           "{",
                                           "[]",
                                           "null",
                                           "nul",
                                           "{\"a\":1}}",
                                           "{\"model\":\"demo\",}",
                                           "{'model':'demo'}",
                                           "\xef\xbb\xbf[",
                                           std::string("{\"model\":\"de\0mo\"}", 16),
                                           "{\"model\":\"\xc3\x28\"}",
                                           "{\"model\":\"\\ud800\"}",
                                           "{\"model\":1e999999}",
                                           "{\"model\":" + std::string(100'000, '9') + "}",
                                           std::string(1'000'000, ' '),
                                           deep,
                                           deep_objects,
                                           wide + "0]}"};
  for (const Endpoint& endpoint : endpoints()) {
    HttpClient client(server().port());
    for (const std::string& body : bodies) {
      const Reply reply = client.request("POST", endpoint.path, body);
      EXPECT_TRUE(reply.status == 400 || reply.status == 404)
          << endpoint.path << " " << body.substr(0, 40) << ": " << reply.status << reply.body;
      EXPECT_TRUE(reply.error().contains("message")) << reply.body;
    }
  }
}

}  // namespace
}  // namespace tenon_http::test
