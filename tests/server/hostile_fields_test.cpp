// Wrong values everywhere: each part of a request of each POST route is replaced by values of other
// kinds. The answer is then correct, or a 4xx that names the field; never a 5xx, and never missing.
// A route of the router's table, or of docs/server.md, without a case in this file fails the test.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/router.h"
#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

using testing::HasSubstr;

struct Endpoint {
  enum class Kind : uint8_t {
    Served,
    Order,    ///< loads or unloads a model: no fields, optional body
    Refused,  ///< always refused: the server does not offer the function
  };
  const char* path;
  const char* body;  ///< valid, with every field that the route reads
  Kind kind = Kind::Served;
};

constexpr const char* kRerank =
    R"({"model": "rows", "query": "a", "documents": ["b", {"text": "c"}], "top_n": 1,
        "return_documents": true})";

constexpr const char* kBareRerank =
    R"({"model": "rows", "query": "a", "texts": ["b", "c"], "top_n": 1, "return_text": true,
        "raw_scores": true, "truncate": true, "truncation_direction": "right"})";

/// Models: "demo" generates text, "rows" embeds, "file" is loaded and unloaded.
const std::vector<Endpoint>& endpoints() {
  static const std::vector<Endpoint> list = {
      {"/v1/chat/completions",
       R"({"model": "demo", "messages": [{"role": "system", "content": "Be short."},
            {"role": "user", "content": [{"type": "text", "text": "Where is it cold?"}]},
            {"role": "assistant", "content": null, "refusal": "No.", "tool_calls": [
              {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}}]},
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
      {"/v1/chat/completions",
       R"({"model": "demo", "messages": [{"role": "user", "content": "Hi"},
            {"role": "assistant", "reasoning_content": "r", "tool_calls": [{"id": "call_1",
              "type": "custom", "custom": {"name": "shell", "input": "ls"}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "a"}]}],
           "tools": [{"type": "custom", "custom": {"name": "shell", "description": "d", "format": {
              "type": "grammar", "grammar": {"syntax": "regex", "definition": "[a-z]+"}}}}],
           "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto",
              "tools": [{"type": "custom", "custom": {"name": "shell"}}]}},
           "max_completion_tokens": 1, "user": "u", "safety_identifier": "s", "prompt_cache_key": "k",
           "prompt_cache_retention": "24h", "service_tier": "auto", "store": false,
           "metadata": {"a": "b"}, "verbosity": "low", "echo_repair": true, "ignore_eos": false,
           "priority": 0, "banned_strings": ["x"], "bad_words": ["y"], "speculation": "off",
           "draft_max": 4})"},
      {"/v1/chat/completions",
       R"({"model": "demo", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1,
           "structured_outputs": {"choice": ["a", "b"]}})"},
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
      {"/v1/messages",
       R"({"model": "demo", "max_tokens": 1, "messages": [{"role": "user", "content": [
             {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral", "ttl": "5m"}}]},
             {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "c2ln"},
               {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Oslo"}}]},
             {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1",
               "is_error": false, "content": [{"type": "text", "text": "4"}]}]}],
           "stream": true, "service_tier": "auto", "inference_geo": "eu",
           "thinking": {"type": "enabled", "budget_tokens": 1024, "display": "summarized"},
           "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {
             "type": "object"}}}})"},
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
      {"/v1/responses",
       R"({"model": "demo", "max_output_tokens": 1, "input": [{"role": "user", "content": "Hi"},
             {"type": "reasoning", "summary": [{"type": "summary_text", "text": "r"}],
              "encrypted_content": "e"},
             {"type": "custom_tool_call", "call_id": "c1", "name": "shell", "input": "ls"},
             {"type": "custom_tool_call_output", "call_id": "c1",
              "output": [{"type": "input_text", "text": "a"}]}],
           "tools": [{"type": "namespace", "name": "os", "tools": [{"type": "custom", "name": "shell",
              "description": "d", "format": {"type": "grammar", "syntax": "regex",
              "definition": "[a-z]+"}}]}], "tool_choice": "none", "store": true,
           "text": {"verbosity": "low", "format": {"type": "json_schema", "name": "n", "strict": true,
              "schema": {"type": "object"}}},
           "reasoning": {"effort": "low", "summary": "auto"}, "truncation": "disabled",
           "include": ["reasoning.encrypted_content"], "top_logprobs": 0, "max_tool_calls": 1,
           "metadata": {"a": "b"}, "stream": true})"},
      {"/v1/messages/batches", R"({"requests": []})", Endpoint::Kind::Refused},
      {"/v1/responses/compact", R"({"model": "demo", "input": "Hi"})", Endpoint::Kind::Refused},
      {"/v1/embeddings",
       R"({"model": "rows", "input": ["a"], "encoding_format": "float", "dimensions": 4, "user": "u"})"},
      {"/v1/embeddings", R"({"model": "rows", "input": [[1, 2]], "encoding_format": "base64"})"},
      {"/v1/rerank", kRerank},
      {"/v2/rerank", kRerank},
      {"/rerank", kRerank},
      {"/rerank", kBareRerank},
      {"/v1/score", R"({"model": "rows", "text_1": "a", "text_2": ["b"]})"},
      {"/score", R"({"model": "rows", "text_1": ["a", "b"], "text_2": ["c", "d"]})"},
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
           "parse_special": false, "return_token_strs": true, "with_pieces": false})"},
      {"/v1/tokenize", R"({"model": "demo", "messages": [{"role": "user", "content": "Hi"}]})"},
      {"/detokenize", R"({"model": "demo", "tokens": [1, 2]})"},
      {"/v1/detokenize", R"({"model": "demo", "tokens": []})"},
      {"/lora-adapters", "[]", Endpoint::Kind::Refused},  // of which of the models?
      {"/v1/models/file/load", "{}", Endpoint::Kind::Order},
      {"/v1/models/file/unload", "{}", Endpoint::Kind::Order},
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
                                          nullptr,
                                          -1,
                                          7.5,
                                          1e300,
                                          true,
                                          uint64_t{1} << 63};
  return list;
}

/// Calls `visit` with the JSON pointer of each part of a document, including the whole.
template <typename Visit>
void each_part(const Value& value, const Value::json_pointer& place, Visit visit) {
  visit(place);
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) each_part(member, place / key, visit);
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) each_part(value[i], place / i, visit);
  }
}

/// True for objects without required members.
bool has_no_required_member(std::string_view field) {
  static constexpr auto kFields = std::to_array<std::string_view>(
      {"chat_template_kwargs", "stream_options", "reasoning", "text", "output_config"});
  return std::find(kFields.begin(), kFields.end(), field) != kFields.end();
}

/// True for a place that accepts any value: inside definitions of the client, which the server does
/// not read.
bool is_free(std::string_view place) {
  static constexpr auto kFree = std::to_array<std::string_view>(
      {"/parameters/", "/input_schema/", "/schema/", "/chat_template_kwargs/", "/input/city"});
  return std::any_of(kFree.begin(), kFree.end(),
                     [&](std::string_view part) { return place.find(part) != place.npos; });
}

/// True if a value lifts an answer's limit: null, "" or -1 in a limit's field.
bool lifts_the_limit(std::string_view place, const Value& wrong) {
  const bool is_limit =
      place == "/max_tokens" || place == "/max_completion_tokens" || place == "/max_output_tokens";
  return is_limit && (wrong.is_null() || wrong == "" || wrong == -1);
}

/// True if a value's kind is wrong. A text may replace a list or an object in many places; numbers
/// and booleans replace nothing else. Null counts as absent.
bool is_wrong_kind(std::string_view place, const Value& right, const Value& wrong) {
  if (is_free(place) || right.is_null() || wrong.is_null()) return false;
  // An empty text is "none" (EmptyTextForANumberIsNone). Biases may be a list of pairs.
  if (right.is_number() && wrong == "") return false;
  if (place.ends_with("/logit_bias") && wrong == Value::array()) return false;
  // A choice's value may be a string or a boolean, and so may a schema.
  if (place.ends_with("/value") && right.is_string() && wrong.is_boolean()) return false;
  if (place.ends_with("schema") && wrong.is_boolean()) return false;
  return right.is_boolean() != wrong.is_boolean() || right.is_number() != wrong.is_number() ||
         (right.is_object() && wrong.is_array());
}

/// First segment of a path: "messages" for "/messages/0/content" and "messages[0].content".
std::string_view first_field(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  return path.substr(0, path.find_first_of("/.["));
}

/// True if a refusal may name `param` for a wrong value at `place`.
bool may_name(std::string_view param, std::string_view place, const Value& wrong) {
  // An absent field may be reported under its alternative name.
  if (place.empty() || wrong.is_null()) return !param.empty();
  // A choice names a tool whose name was replaced.
  if (first_field(place) == "tools" && first_field(param) == "tool_choice") return true;
  return first_field(param) == first_field(place);
}

/// True if a path matches a pattern, in which a segment in capitals is any name:
/// "/v1/models/NAME/load".
bool is_path_of(std::string_view path, std::string_view pattern) {
  const auto segment_of = [](std::string_view& rest) {
    const size_t end = std::min(rest.find('/', 1), rest.size());
    const std::string_view segment = rest.substr(0, end);
    rest.remove_prefix(end);
    return segment;
  };
  while (!path.empty() && !pattern.empty()) {
    const std::string_view wanted = segment_of(pattern);
    const bool is_any = wanted.find_first_not_of("/ABCDEFGHIJKLMNOPQRSTUVWXYZ") == wanted.npos;
    if (const std::string_view segment = segment_of(path); !is_any && segment != wanted) {
      return false;
    }
  }
  return path.empty() && pattern.empty();
}

/// POST routes in the first column of the table under "## Routes". A path without a method inherits
/// the previous path's.
std::set<std::string> documented_posts() {
  std::ifstream file(TENON_SERVER_DOC);
  std::set<std::string> paths;
  bool is_inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) is_inside = line == "## Routes";
    if (!is_inside || !line.starts_with("| `")) continue;
    const std::string cell = line.substr(2, line.find(" |") - 2);
    bool is_post = false;
    for (size_t begin = cell.find('`'); begin != cell.npos; begin = cell.find('`', begin)) {
      const size_t end = std::min(cell.find('`', begin + 1), cell.size() - 1);
      const std::string words = cell.substr(begin + 1, end - begin - 1);
      const size_t slash = words.find('/');
      if (slash > 0) is_post = words.starts_with("POST ");
      if (is_post) paths.insert(words.substr(slash));
      begin = end + 1;
    }
  }
  return paths;
}

class HostileFieldsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    rows_ = std::make_unique<tenon::Model>(TENON_DEMO_MODEL,
                                           tenon::ModelOptions{.threads = 1, .embeddings = "on"});
    tenon_server_options options{};
    options.model_control = 1;
    server_ = std::make_unique<RunningServer>(options, false);
    ASSERT_EQ(tenon_server_add_model(server_->get(), "rows", 4, rows_->get(), nullptr, 0), TENON_OK)
        << tenon_server_last_error();
    tenon_server_model_file file{};
    file.struct_size = sizeof file;
    file.path = TENON_DEMO_MODEL;
    file.context = 512;
    ASSERT_EQ(tenon_server_add_file(server_->get(), "file", 4, &file), TENON_OK)
        << tenon_server_last_error();
    ASSERT_EQ(tenon_server_start(server_->get(), 0), TENON_OK) << tenon_server_last_error();
  }
  static void TearDownTestSuite() {
    server_.reset();
    rows_.reset();
  }
  static const RunningServer& server() { return *server_; }

  /// Expects success, or a refusal that names the field of `place` in the interface's format.
  static void expect_answer(const Reply& reply, const Endpoint& endpoint,
                            const Value::json_pointer& place, const Value& wrong) {
    const std::string at = place.to_string();
    const std::string what =
        std::string(endpoint.path) + " " + at + " = " + wrong.dump() + ": " + reply.body;
    EXPECT_TRUE(reply.status == 200 || reply.status == 400 || reply.status == 404)
        << reply.status << " " << what;
    if (reply.status == 200) return;
    const Value error = reply.error();
    EXPECT_TRUE(error.contains("message") && error["message"].is_string()) << what;
    if (std::string_view(endpoint.path).starts_with("/v1/messages")) {
      EXPECT_EQ(reply.json().value("type", ""), "error") << what;
    }
    ASSERT_TRUE(error.contains("param")) << what;
    // A body that is no object has no field; a refusal of the whole body names none.
    const bool has_none = at.empty() && !wrong.is_object();
    if (has_none || endpoint.kind == Endpoint::Kind::Refused) return;
    ASSERT_TRUE(error["param"].is_string()) << what;
    EXPECT_TRUE(may_name(error["param"].get<std::string>(), at, wrong)) << what;
  }

 private:
  static inline std::unique_ptr<tenon::Model> rows_;
  static inline std::unique_ptr<RunningServer> server_;
};

TEST(HostileRoutes, EachPostRouteHasACase) {
  const auto has_case = [](auto is_of) {
    return std::any_of(endpoints().begin(), endpoints().end(),
                       [&](const Endpoint& endpoint) { return is_of(endpoint.path); });
  };
  const std::set<std::string> documented = documented_posts();
  EXPECT_GT(documented.size(), 15u);
  for (const std::string& path : documented) {
    EXPECT_TRUE(has_case([&](std::string_view of) { return is_path_of(of, path); }))
        << "no case for POST " << path << " of docs/server.md";
  }
  size_t num_posts = 0;
  for (const RouteName& route : list_routes()) {
    if (route.method != "POST") continue;
    ++num_posts;
    const auto is_of = [&](std::string_view path) {
      return route.path.ends_with('/') ? path.starts_with(route.path) : path == route.path;
    };
    EXPECT_TRUE(has_case(is_of)) << "no case for POST " << route.path << " of the router";
    EXPECT_TRUE(std::any_of(documented.begin(), documented.end(), is_of))
        << "POST " << route.path << " is not in the table of docs/server.md";
  }
  EXPECT_GE(num_posts, 20u);
}

TEST_F(HostileFieldsTest, RightRequestsAreServed) {
  for (const Endpoint& endpoint : endpoints()) {
    const Reply reply = server().post(endpoint.path, Value::parse(endpoint.body));
    if (endpoint.kind == Endpoint::Kind::Refused) {
      EXPECT_TRUE(reply.status == 400 || reply.status == 404) << endpoint.path << reply.body;
    } else {
      EXPECT_EQ(reply.status, 200) << endpoint.path << reply.body;
    }
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
        const Reply reply = client.request("POST", endpoint.path, body.dump());
        expect_answer(reply, endpoint, place, wrong);
        if (lifts_the_limit(place.to_string(), wrong)) {
          // Anthropic's interface requires a limit.
          const bool demands = std::string_view(endpoint.path).starts_with("/v1/messages");
          EXPECT_EQ(reply.status, demands ? 400 : 200)
              << endpoint.path << " " << place << " = " << wrong.dump() << ": " << reply.body;
        }
        if (is_wrong_kind(place.to_string(), right[place], wrong)) {
          EXPECT_NE(reply.status, 200)
              << endpoint.path << " ignores " << place.to_string() << " = " << wrong.dump();
        }
        ++asked;
        refused += reply.status == 200 ? 0 : 1;
      }
    });
  }
  EXPECT_GT(asked, 3000u);
  EXPECT_GT(refused, asked / 2) << "of " << asked;
}

TEST_F(HostileFieldsTest, EmptyTextForANumberIsNone) {
  HttpClient client(server().port());
  size_t asked = 0;
  for (const Endpoint& endpoint : endpoints()) {
    const Value right = Value::parse(endpoint.body);
    each_part(right, Value::json_pointer(), [&](const Value::json_pointer& place) {
      if (!right[place].is_number() || is_free(place.to_string())) return;
      Value empty = right;
      empty[place] = "";
      Value none = right;
      none[place] = nullptr;
      const Reply of_empty = client.request("POST", endpoint.path, empty.dump());
      const Reply of_none = client.request("POST", endpoint.path, none.dump());
      EXPECT_EQ(of_empty.status, of_none.status)
          << endpoint.path << " " << place << ": " << of_empty.body << "\n"
          << of_none.body;
      ++asked;
    });
  }
  EXPECT_GT(asked, 40u);
}

TEST_F(HostileFieldsTest, HalfASurrogateIsTheReplacementCharacterInEveryText) {
  HttpClient client(server().port());
  size_t asked = 0;
  size_t served = 0;
  for (const Endpoint& endpoint : endpoints()) {
    const Value right = Value::parse(endpoint.body);
    each_part(right, Value::json_pointer(), [&](const Value::json_pointer& place) {
      if (!right[place].is_string()) return;
      const auto ask = [&](const std::string& character) {
        Value body = right;
        body[place] = "@@";  // placeholder, which dump() writes unchanged
        std::string text = body.dump();
        text.replace(text.find("@@"), 2, character);
        return client.request("POST", endpoint.path, text);
      };
      const Reply whole = ask("\xef\xbf\xbd");
      for (const char* half : {"\\ud800", "\\udfff", "\\udc00\\ud800"}) {
        const bool are_two = std::string_view(half).size() > 6;
        const Reply reply = ask(half);
        EXPECT_EQ(reply.status, are_two ? ask("\xef\xbf\xbd\xef\xbf\xbd").status : whole.status)
            << endpoint.path << " " << place << " = " << half << ": " << reply.body;
        expect_answer(reply, endpoint, place, half);
        served += reply.status == 200 ? 1 : 0;
        ++asked;
      }
    });
  }
  EXPECT_GT(asked, 400u);
  EXPECT_GT(served, asked / 4) << "of " << asked;
  const auto tokens_of = [&](const std::string& text) {
    const Reply reply =
        client.request("POST", "/tokenize", R"({"model": "demo", "prompt": "a)" + text + R"(b"})");
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.json().value("tokens", Value());
  };
  EXPECT_EQ(tokens_of("\\ud800"), tokens_of("\xef\xbf\xbd"));
  EXPECT_NE(tokens_of("\\ud800"), tokens_of(""));
}

TEST_F(HostileFieldsTest, NoFieldTakesAnObjectOfNothingKnown) {
  const Value nothing{{"\xf0\x9f\xa6\x84", {{"b", Value::array()}}}};
  for (const Endpoint& endpoint : endpoints()) {
    if (endpoint.kind != Endpoint::Kind::Served) continue;
    const Value right = Value::parse(endpoint.body);
    for (const auto& [field, value] : right.items()) {
      if (has_no_required_member(field)) continue;
      Value body = right;
      body[field] = nothing;
      const Reply reply = server().post(endpoint.path, body);
      EXPECT_EQ(reply.status, 400) << endpoint.path << " " << field << " " << reply.body;
      EXPECT_THAT(reply.error()["param"].dump(), HasSubstr(field))
          << endpoint.path << " " << reply.body;
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
                                           "{\"model\":1e999999}",
                                           "{\"model\":" + std::string(100'000, '9') + "}",
                                           std::string(1'000'000, ' '),
                                           deep,
                                           deep_objects,
                                           wide + "0]}"};
  for (const Endpoint& endpoint : endpoints()) {
    HttpClient client(server().port());
    for (const std::string& body : bodies) {
      if (body.empty() && endpoint.kind == Endpoint::Kind::Order) continue;
      const Reply reply = client.request("POST", endpoint.path, body);
      EXPECT_TRUE(reply.status == 400 || reply.status == 404)
          << endpoint.path << " " << body.substr(0, 40) << ": " << reply.status << reply.body;
      EXPECT_TRUE(reply.error().contains("message")) << reply.body;
    }
  }
}

}  // namespace
}  // namespace tenon_http::test
