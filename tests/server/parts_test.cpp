// Parts of the server without a socket: fields, keys, heads of answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/http/cors_policy.h"
#include "server/http/http_head.h"
#include "server/json/fields.h"
#include "server/operations/api_keys.h"
#include "server/protocols/list_query.h"

namespace tenon_http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Field that reading refuses; "" if it succeeds.
template <typename Read>
std::string refused_field(const std::string& text, Read read) {
  const Json body = parse_json(text);
  try {
    read(Fields(body));
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status(), 400);
    return error.param().value_or("(none)");
  }
  return "";
}

TEST(ServerFields, RefusesWrongTypesAndRangesNamingTheField) {
  const auto integer = [](const Fields& fields) { (void)fields.integer("n", 1, 9); };
  for (const char* value : {"0", "10", "1.5", "\"1\"", "true", "[]", "18446744073709551615"}) {
    EXPECT_EQ(refused_field(std::string("{\"n\":") + value + "}", integer), "n") << value;
  }
  for (const char* text : {"{\"n\":1}", "{\"n\":9}", "{\"n\":null}", "{}"}) {
    EXPECT_EQ(refused_field(text, integer), "") << text;
  }
  const auto number = [](const Fields& fields) { (void)fields.number("x", 0, 2); };
  EXPECT_EQ(refused_field(R"({"x":2.5})", number), "x");
  EXPECT_EQ(refused_field(R"({"x":"1"})", number), "x");
  EXPECT_EQ(refused_field(R"({"x":2})", number), "");
}

TEST(ServerFields, NamesTheWholePath) {
  const auto read = [](const Fields& fields) {
    (void)fields.object("a")->object("b")->required_text("c");
  };
  EXPECT_EQ(refused_field(R"({"a":{"b":{}}})", read), "a.b.c");
  EXPECT_EQ(refused_field(R"({"a":{"b":[]}})", read), "a.b");
  EXPECT_EQ(refused_field(R"([])", read), "(none)");
}

TEST(ServerLists, PartsBeginAndEndWhereTheQuerySays) {
  Json items = Json::array();
  for (const char* id : {"a", "b", "c/d", "e"}) items.push_back({{"id", id}});
  const auto ids_of = [&](const char* query) {
    HttpRequest request;
    request.query = query;
    const Json part = list_part(items, request, kModelList);
    std::string ids;
    for (const Json& item : part["data"]) ids += item["id"].get<std::string>() + " ";
    return ids + (part["has_more"] == true ? "more" : "end");
  };
  EXPECT_EQ(ids_of(""), "a b c/d e end");
  EXPECT_EQ(ids_of("limit=2"), "a b more");
  EXPECT_EQ(ids_of("beta=true&after_id=b&limit=1"), "c/d more");
  EXPECT_EQ(ids_of("after_id=c%2Fd"), "e end");
  EXPECT_EQ(ids_of("after_id=e"), "end");
  EXPECT_EQ(ids_of("before_id=e&limit=2"), "b c/d more");
  EXPECT_EQ(ids_of("before_id=b"), "a end");
  EXPECT_EQ(query_value("a=%41%2&b&=c", "a"), "A%2");
  EXPECT_EQ(query_value("a=%41%2&b&=c", "b"), "");
}

TEST(ServerApiKeys, ReadsALineEach) {
  const std::vector<ApiClient> clients =
      read_api_keys("one\r\n\n  # no\n\ttwo  anna weight=2.5 \nthree requests=4 weight=1");
  ASSERT_EQ(clients.size(), 3u);
  EXPECT_EQ(clients[0].key, "one");
  EXPECT_EQ(clients[0].name, "key-1");
  EXPECT_EQ(clients[0].weight, 1);
  EXPECT_EQ(clients[0].max_requests, 0u);
  EXPECT_EQ(clients[1].key, "two");
  EXPECT_EQ(clients[1].name, "anna");
  EXPECT_EQ(clients[1].weight, 2.5);
  EXPECT_EQ(clients[2].name, "key-3");
  EXPECT_EQ(clients[2].max_requests, 4u);
}

TEST(ServerApiKeys, RefusesLinesThatSaySomethingElse) {
  for (const char* line : {"k a b", "k weight=0", "k weight=1e9", "k weight=x", "k weight=",
                           "k requests=0", "k requests=-1", "k requests=1.5", "k wight=2"}) {
    try {
      (void)read_api_keys(std::string("good\n") + line);
      ADD_FAILURE() << line;
    } catch (const tenon::Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("line 2")) << line;
    }
  }
}

TEST(ServerApiKeys, TakesBearerInAnyCaseAndTheOtherHeader) {
  const std::vector<ApiClient> keys = {{.key = "secret", .name = "a"},
                                       {.key = "other", .name = "b"}};
  const auto accepts = [&](const std::string& authorization, const std::string& api_key) {
    HttpRequest request;
    request.authorization = authorization;
    request.api_key = api_key;
    try {
      EXPECT_NE(check_api_key(request, keys), nullptr);
    } catch (const ApiError& error) {
      EXPECT_EQ(error.status(), 401);
      return false;
    }
    return true;
  };
  EXPECT_TRUE(accepts("Bearer secret", ""));
  EXPECT_TRUE(accepts("bEARER  other", ""));
  EXPECT_TRUE(accepts("", "secret"));
  for (const char* wrong :
       {"", "secret", "Bearer ", "Bearer secre", "Bearer secrets", "Basic secret"}) {
    EXPECT_FALSE(accepts(wrong, "")) << wrong;
  }
}

TEST(ServerHttpHead, DecodesPathsAndLeavesBrokenEscapes) {
  HttpRequest request;
  set_target(request, "/v1/models/a%2Fb%20c%zz%?beta=true");
  EXPECT_EQ(request.path, "/v1/models/a/b c%zz%");
  EXPECT_EQ(request.query, "beta=true");
}

TEST(ServerCorsPolicy, PagesOfThisMachineMayAsk) {
  for (const char* mine :
       {"http://localhost", "http://localhost:3000", "https://127.0.0.1:8080", "http://[::1]:80"}) {
    EXPECT_EQ(allowed_origin(kLoopbackPages, mine), mine);
  }
  for (const char* foreign :
       {"http://localhost.evil.example", "http://127.0.0.1.evil.example:80", "http://evil.example",
        "null", "ftp://localhost", "http://localhost:", "http://localhost:80.evil.example",
        "http://localhost@evil.example"}) {
    EXPECT_FALSE(may_ask(kLoopbackPages, foreign)) << foreign;
    EXPECT_TRUE(may_ask("*", foreign));
    EXPECT_FALSE(may_ask("", foreign));
  }
  EXPECT_TRUE(may_ask("", "")) << "no page";
  EXPECT_EQ(allowed_origin("https://app.example", "https://app.example"), "https://app.example");
  EXPECT_FALSE(may_ask("https://app.example", "http://localhost"));
}

TEST(ServerHttpHead, WritesLengthOrChunks) {
  const HttpAnswer answer{.status = 429, .body = "12345", .headers = {{"Retry-After", "1"}}};
  const std::string head = http_head(answer, {.keep_alive = false, .cors = "*"});
  EXPECT_THAT(head, HasSubstr("HTTP/1.1 429 Too Many Requests\r\n"));
  EXPECT_THAT(head, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(head, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(head, HasSubstr("Retry-After: 1\r\n"));
  EXPECT_THAT(head, HasSubstr("Access-Control-Allow-Origin: *\r\n"));
  EXPECT_THAT(http_head({}, {.chunked = true}), Not(HasSubstr("Content-Length")));
  EXPECT_EQ(http_chunk("0123456789abcdefg"), "11\r\n0123456789abcdefg\r\n");
}

}  // namespace
}  // namespace tenon_http
