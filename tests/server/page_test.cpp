// Chat page as sent to a browser; tests/server/page tests its behaviour in one.
#include "server/operations/page.h"

#include <gmock/gmock.h>

#include <string>

#include "server/http/cors_policy.h"
#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

using testing::HasSubstr;

TEST(Page, IsServedWithItsPolicyAndWithoutAKey) {
  tenon_server_options options{};
  options.api_keys = "secret";
  options.api_keys_length = 6;
  const RunningServer server(options);
  const Reply page = server.get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.headers.at("content-type"), "text/html; charset=utf-8");
  EXPECT_THAT(page.headers.at("content-security-policy"), HasSubstr("default-src 'none'"));
  const Reply script = server.get("/page/main.js");
  EXPECT_EQ(script.headers.at("content-type"), "text/javascript; charset=utf-8");
  for (const char* path : {"/page/", "/page/nothing.js", "/page/../page/main.js", "/index.html"}) {
    EXPECT_EQ(server.get(path).status, 404) << path;
  }
}

TEST(Page, CanBeSwitchedOff) {
  tenon_server_options options{};
  options.without_page = 1;
  const RunningServer server(options);
  EXPECT_EQ(server.get("/").status, 404);
  EXPECT_EQ(server.get("/page/main.js").status, 404);
}

TEST(Page, AsksNothingOfOthersAndIsSmall) {
  size_t size = 0;
  for (const PageFile& file : page_files()) {
    size += file.content.size();
    const bool is_icon = file.name == "icon.svg";  // names the format by its address
    if (is_icon) continue;
    EXPECT_EQ(file.content.find("http://"), std::string_view::npos) << file.name;
    EXPECT_EQ(file.content.find("https://"), std::string_view::npos) << file.name;
    EXPECT_EQ(file.content.find("innerHTML"), std::string_view::npos) << file.name;
  }
  EXPECT_GT(size, 10'000u);
  EXPECT_LT(size, 50'000u);
}

TEST(Page, MayAskItsOwnServerUnderAnAddressInDigits) {
  EXPECT_TRUE(is_own_page("http://192.0.2.1:8080", "192.0.2.1:8080"));
  EXPECT_TRUE(is_own_page("https://[2001:db8::1]", "[2001:db8::1]"));
  EXPECT_FALSE(is_own_page("http://evil.example:8080", "evil.example:8080"));
  EXPECT_FALSE(is_own_page("http://192.0.2.2:8080", "192.0.2.1:8080"));
  EXPECT_FALSE(is_own_page("null", "null"));
  const RunningServer server;
  HttpClient client(server.port());
  const std::string from = "Origin: http://192.0.2.1:8080\r\n";
  EXPECT_EQ(client.request("POST", "/tokenize", "{}", from).status, 403);
  HttpClient own(server.port());
  own.send("POST /tokenize HTTP/1.1\r\nHost: 192.0.2.1:8080\r\nContent-Length: 2\r\n" + from +
           "\r\n{}");
  EXPECT_EQ(own.read().status, 400);
}

}  // namespace
}  // namespace tenon_http::test
