// Request framing: bytes that two parsers may split differently (RFC 9112), and parts beyond the
// limits. Each gets a single answer, and the connection ends.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

const std::string kBody = R"({"prompt":"a","max_tokens":1})";
const std::string kHealth = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";

std::string chunked(const std::string& extension = "", const std::string& trailers = "",
                    const std::string& coding = "Transfer-Encoding: chunked\r\n") {
  return "POST /v1/completions HTTP/1.1\r\nHost: x\r\n" + coding + "\r\n1d" + extension + "\r\n" +
         kBody + "\r\n0\r\n" + trailers + "\r\n";
}

std::string with_length(const std::string& headers, const std::string& length = "29") {
  return "POST /v1/completions HTTP/1.1\r\nHost: x\r\n" + headers + "Content-Length: " + length +
         "\r\n\r\n" + kBody;
}

class FramingTest : public ServerTest {
 protected:
  /// Status of the only answer.
  static int status_of(const std::string& bytes, bool ends) {
    HttpClient client(server().port());
    // The rest of the first request must not become a second.
    client.send(bytes + (ends ? kHealth : ""));
    const int status = client.read(60).status;
    EXPECT_TRUE(!ends || client.is_closed_within(60)) << bytes.substr(0, 200);
    EXPECT_EQ(server().get("/health").status, 200);
    return status;
  }
};

TEST_F(FramingTest, RightOnesAreAnswered) {
  for (const std::string& bytes :
       {with_length(""), chunked(), chunked(";a=b;c=\"d\""), chunked("", "X-T: 1\r\nX-U: 2\r\n"),
        chunked("", "X-T: " + std::string(8000, 'a') + "\r\n"),
        chunked("", "", "Transfer-Encoding:\tCHUNKED\r\n"), with_length("Expect: 200-ok\r\n"),
        with_length("X-A:\r\nX-B: \t\r\nX-C: c \r\n")}) {
    EXPECT_EQ(status_of(bytes, false), 200) << bytes.substr(0, 200);
  }
}

TEST_F(FramingTest, OnesOfTwoReadingsAreRefused) {
  const std::string of_old = "POST /v1/completions HTTP/1.0\r\nHost: x\r\n";
  for (const std::string& bytes : {
           of_old + "Transfer-Encoding: chunked\r\n\r\n1d\r\n" + kBody + "\r\n0\r\n\r\n",
           chunked("", "", "Transfer-Encoding: gzip, chunked\r\n"),
           chunked("", "", "Transfer-Encoding: chunked, gzip\r\n"),
           chunked("", "", "Transfer-Encoding: chunked;q=1\r\n"),
           chunked("", "", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
           chunked("", "", "Transfer-Encoding:\r\n chunked\r\n"),
           chunked("", "", "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n"),
           chunked(";a=b\nGET / HTTP/1.1"),
           with_length("X-A: b\r\n c\r\n"),
           with_length("X-A: b\r\n\tc\r\n"),
           with_length("X-A:\r\n c\r\n"),
           with_length("X-A: b\r\n \r\n"),
           with_length("", "29, 29"),
           with_length("", "+29"),
           with_length("", "0x1d"),
           with_length("Content-Length: 29\r\n"),
           with_length("Content-Length: 3\r\n"),
           with_length("Host: y\r\n"),
           std::string("GET /health HTTP/1.1\r\n\r\n"),
       }) {
    EXPECT_EQ(status_of(bytes, true), 400) << bytes.substr(0, 200);
  }
}

TEST_F(FramingTest, TrailersAndExtensionsHaveLimits) {
  for (const size_t size : {9000, 33000, 65535, 65536, 66000, 200000}) {
    EXPECT_EQ(status_of(chunked("", "X-T: " + std::string(size, 'a') + "\r\n"), true), 431) << size;
    EXPECT_EQ(status_of(chunked("", std::string(size, 'a') + ": x\r\n"), true), 431) << size;
    EXPECT_GE(status_of(chunked(";" + std::string(size, 'a')), true), 400) << size;
  }
  std::string many;
  for (int i = 0; i < 100; ++i) many += "t" + std::to_string(i) + ": x\r\n";
  EXPECT_EQ(status_of(chunked("", many), true), 431);
  std::string chunks;
  for (int i = 0; i < 100; ++i) chunks += "1;" + std::string(1000, 'a') + "\r\n \r\n";
  EXPECT_EQ(status_of("POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" +
                          chunks + "0\r\n\r\n",
                      true),
            400);
}

TEST(Framing, HeadersHaveLimitsAlsoWhereTheHostAllowsLargeOnes) {
  tenon_server_options options{};
  options.max_header_bytes = 1 << 20;
  const RunningServer server(options);
  const auto status_of = [&](const std::string& headers) {
    HttpClient client(server.port());
    client.send("GET /health HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n");
    return client.read(60).status;
  };
  for (const size_t size : {1000, 65535, 65536, 70000, 900000}) {
    EXPECT_EQ(status_of("X-A: " + std::string(size, 'a') + "\r\n"), 200) << size;
    EXPECT_EQ(status_of(std::string(size, 'a') + ": b\r\n"), 200) << size;
  }
  EXPECT_EQ(status_of("X-A: " + std::string(2 << 20, 'a') + "\r\n"), 431);
  std::string many;
  for (int i = 0; i < 600; ++i) many += "h" + std::to_string(i) + ": x\r\n";
  EXPECT_EQ(status_of(many), 431);
  EXPECT_EQ(status_of("Authorization: Bearer " + std::string(100000, 'a') + "\r\n"), 200);
}

// DNS rebinding: another site's name may resolve to this machine.
TEST_F(FramingTest, NamesThatOthersMayOwnAreRefused) {
  const auto status_of = [&](const std::string& host, const std::string& more = "") {
    HttpClient client(server().port());
    client.send("GET /v1/models HTTP/1.1\r\nHost: " + host + "\r\n" + more + "\r\n");
    const Reply reply = client.read(60);
    EXPECT_EQ(reply.body.find("host_not_allowed") != std::string::npos, reply.status == 403);
    return reply.status;
  };
  for (const char* ours :
       {"localhost", "localhost:8080", "LOCALHOST", "a.localhost:1", "127.0.0.1:8080", "127.0.0.2",
        "[::1]:8080", "192.0.2.1", "tenon", "localhost."}) {
    EXPECT_EQ(status_of(ours), 200) << ours;
  }
  for (const char* theirs :
       {"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example",
        "[::1].evil.example", "127.0.0.1@evil.example", "[::1", "a b.example"}) {
    EXPECT_EQ(status_of(theirs), 403) << theirs;
  }
  EXPECT_EQ(status_of("evil.example", "Origin: http://localhost:3000\r\n"), 403);
}

}  // namespace
}  // namespace tenon_http::test
