// Table of fields in docs/server-clients.md: a wrong value of each listed field is refused by name,
// and the table lists each field of the server and of the library's options.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "server/protocols/other_fields.h"
#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

using testing::Contains;

/// Fields by route; those of "sampling" have a row of their own.
std::map<std::string, std::set<std::string>> documented_fields() {
  std::ifstream file(TENON_SERVER_CLIENTS_DOC);
  std::map<std::string, std::set<std::string>> rows;
  bool is_inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) is_inside = line == "## Fields";
    if (!is_inside || !line.starts_with("| ")) continue;
    const size_t border = line.find(" | ");
    std::string route = line.substr(2, border - 2);
    route.erase(std::remove(route.begin(), route.end(), '`'), route.end());
    if (route == "route") continue;
    std::set<std::string>& fields = rows[route];
    for (size_t begin = line.find('`', border); begin != line.npos;) {
      const size_t end = line.find('`', begin + 1);
      fields.insert(line.substr(begin + 1, end - begin - 1));
      begin = line.find('`', end + 1);
    }
  }
  return rows;
}

/// Valid request for each route.
Value request_of(const std::string& route) {
  const Value messages = user_message("Hi");
  if (route == "/v1/embeddings") return {{"model", "rows"}, {"input", "a"}};
  if (route == "/v1/rerank") return {{"model", "rows"}, {"query", "a"}, {"documents", {"b"}}};
  if (route == "/v1/score") return {{"model", "rows"}, {"text_1", "a"}, {"text_2", "b"}};
  if (route == "/v1/completions") return {{"model", "demo"}, {"prompt", "a"}, {"max_tokens", 1}};
  if (route == "/v1/responses") {
    return {{"model", "demo"}, {"input", "Hi"}, {"max_output_tokens", 1}};
  }
  if (route == "/v1/decisions") {
    const Value question{{"type", "predicate"}, {"instructions", "Is it red?"}};
    return {{"model", "demo"}, {"input", "The fox is red."}, {"questions", {question}}};
  }
  if (route == "/tokenize") return {{"model", "demo"}, {"messages", messages}};
  if (route == "/detokenize") return {{"model", "demo"}, {"tokens", {1}}};
  return {{"model", "demo"}, {"messages", messages}, {"max_tokens", 1}};
}

class DocumentedFieldsTest : public testing::Test {
 protected:
  DocumentedFieldsTest()
      : rows_(TENON_DEMO_MODEL, tenon::ModelOptions{.threads = 1, .embeddings = "on"}),
        server_({}, false) {
    EXPECT_EQ(tenon_server_add_model(server_.get(), "rows", 4, rows_.get(), nullptr, 0), TENON_OK);
    EXPECT_EQ(tenon_server_start(server_.get(), 0), TENON_OK);
  }

  /// True if a wrong value of the field is refused by name.
  [[nodiscard]] bool is_read(const std::string& route, const std::string& field) const {
    const Value nothing{{"?", 1}};
    for (const Value& wrong : {nothing, Value(1e300), Value("?"), Value(true), Value(false),
                               Value::array({Value::array({nothing})})}) {
      Value body = request_of(route);
      // A request has only one subject.
      if (field == "content" || field == "prompt") body.erase("messages");
      if (field == "messages" || field == "prompt") body.erase("input");
      body[field] = wrong;
      const Reply reply = server_.post(route, body);
      if (reply.status == 200) continue;
      const Value param = reply.error().value("param", Value());
      if (param.is_string() && param.get<std::string>().starts_with(field)) return true;
    }
    return false;
  }

 private:
  tenon::Model rows_;
  RunningServer server_;
};

TEST_F(DocumentedFieldsTest, AreRead) {
  const auto rows = documented_fields();
  ASSERT_GE(rows.size(), 11u);
  size_t count = 0;
  for (const auto& [route, fields] : rows) {
    const bool is_sampling = route == "sampling";
    for (const std::string& field : fields) {
      ++count;
      for (const char* of :
           {"/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/completions"}) {
        if (is_sampling) {
          EXPECT_TRUE(is_read(of, field)) << of << " does not read " << field;
        }
      }
      if (!is_sampling) {
        EXPECT_TRUE(is_read(route, field)) << route << " does not read " << field;
      }
    }
  }
  EXPECT_GT(count, 150u);
  EXPECT_FALSE(is_read("/v1/chat/completions", "banana"));
}

TEST(DocumentedFields, AreAllThatAreListed) {
  const auto rows = documented_fields();
  for (const tenon_option_info& option : tenon::option_list()) {
    if (option.scope != TENON_SCOPE_SAMPLER) continue;
    EXPECT_THAT(rows.at("sampling"), Contains(std::string(option.name)));
  }
  const auto expect_all = [&](const char* route, std::span<const OtherField> others) {
    for (const OtherField& field : others) {
      EXPECT_THAT(rows.at(route), Contains(std::string(field.name))) << route;
    }
  };
  expect_all("/v1/chat/completions", kChatFields);
  expect_all("/v1/completions", kCompletionFields);
  expect_all("/v1/responses", kResponseFields);
  expect_all("/v1/messages", kMessageFields);
}

}  // namespace
}  // namespace tenon_http::test
