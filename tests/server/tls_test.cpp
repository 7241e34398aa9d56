// HTTPS through the program openssl, independently of the library that the server uses.
#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

using testing::HasSubstr;

/// Output of a command on both streams.
std::string output_of_command(const std::string& command) {
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::string text;
  for (int c = 0; pipe != nullptr && (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  if (pipe != nullptr) ::pclose(pipe);
  return text;
}

class ServerTls : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("openssl version >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no openssl";
    std::string name = (std::filesystem::temp_directory_path() / "tenon_tls_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    make_certificate("server");
    options_.tls_certificate_file = certificate_.c_str();
    options_.tls_key_file = key_.c_str();
    options_.struct_size = sizeof options_;
    tenon_server* probe = nullptr;
    if (tenon_server_create(&options_, &probe) == TENON_ERROR_UNSUPPORTED) {
      GTEST_SKIP() << tenon_server_last_error();
    }
    ASSERT_NE(probe, nullptr) << tenon_server_last_error();
    tenon_server_destroy(probe);
  }
  void TearDown() override {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }

  void make_certificate(const std::string& name) {
    certificate_ = (folder_ / (name + ".pem")).string();
    key_ = (folder_ / (name + ".key")).string();
    const std::string out = output_of_command(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "
        "/CN=localhost -addext subjectAltName=DNS:localhost -keyout " +
        key_ + " -out " + certificate_);
    ASSERT_TRUE(std::filesystem::exists(certificate_)) << out;
  }

  /// Sends bytes through a client that verifies the certificate.
  std::string send(const RunningServer& server, const std::string& bytes,
                   const std::string& more = "") const {
    const std::string file = (folder_ / "request").string();
    std::FILE* out = std::fopen(file.c_str(), "wb");
    std::fwrite(bytes.data(), 1, bytes.size(), out);
    std::fclose(out);
    return output_of_command("openssl s_client -quiet -ign_eof -verify_return_error -CAfile " +
                             certificate_ + " -servername localhost -connect 127.0.0.1:" +
                             std::to_string(server.port()) + " " + more + " < " + file);
  }

  std::filesystem::path folder_;
  std::string certificate_;
  std::string key_;
  tenon_server_options options_{};
};

TEST_F(ServerTls, AnswersAndStreams) {
  const RunningServer server(options_);
  const std::string closing = "Connection: close\r\n";
  const std::string chat = HttpClient::text_of("POST", kChat, capital_chat().dump(), closing);
  EXPECT_THAT(send(server, chat), testing::AllOf(HasSubstr("200 OK"), HasSubstr("Oslo")));
  const std::string stream =
      HttpClient::text_of("POST", kChat, capital_chat({{"stream", true}}).dump(), closing);
  EXPECT_THAT(send(server, stream), HasSubstr("data: [DONE]"));
  EXPECT_THAT(send(server, chat, "-tls1_2"), HasSubstr("Oslo"));
}

TEST_F(ServerTls, TakesBodiesOfManyRecordsAndPipelinedRequests) {
  const RunningServer server(options_);
  Value body = capital_chat();
  body["ignored"] = std::string(500'000, 'x');
  std::string bytes;
  for (int i = 0; i < 20; ++i) bytes += HttpClient::text_of("GET", "/health", "");
  bytes += HttpClient::text_of("POST", kChat, body.dump(), "Connection: close\r\n");
  const std::string answers = send(server, bytes);
  EXPECT_THAT(answers, HasSubstr("Oslo"));
  size_t count = 0;
  for (size_t at = 0; (at = answers.find("200 OK", at)) != answers.npos; ++at) ++count;
  EXPECT_EQ(count, 21u);
}

TEST_F(ServerTls, PlainOrBrokenBytesEndTheirConnectionAlone) {
  const RunningServer server(options_);
  for (const std::string& bytes :
       {HttpClient::text_of("GET", "/health", ""), std::string("\x16\x03\x01\xff\xff\x01", 6),
        std::string(100'000, '\0')}) {
    HttpClient client(server.port());
    client.send(bytes);
    EXPECT_EQ(client.read(0.3).status, 0);
  }
  EXPECT_THAT(
      send(server, HttpClient::text_of("GET", "/health", "", "Connection: close\r\n"), "-tls1_3"),
      HasSubstr("200 OK"));
  EXPECT_THAT(output_of_command("openssl s_client -tls1_1 -connect 127.0.0.1:" +
                                std::to_string(server.port()) + " </dev/null"),
              HasSubstr("alert protocol version"));
}

TEST_F(ServerTls, FilesAreChecked) {
  tenon_server* server = nullptr;
  tenon_server_options options = options_;
  options.tls_key_file = nullptr;
  EXPECT_EQ(tenon_server_create(&options, &server), TENON_ERROR_ARGUMENT);
  options.tls_key_file = "/nowhere.key";
  EXPECT_EQ(tenon_server_create(&options, &server), TENON_ERROR_IO);
  EXPECT_THAT(tenon_server_last_error(), HasSubstr("/nowhere.key: No such file or directory"));
  const std::string first_certificate = certificate_;
  make_certificate("other");
  options.tls_certificate_file = first_certificate.c_str();
  options.tls_key_file = key_.c_str();
  EXPECT_EQ(tenon_server_create(&options, &server), TENON_ERROR_IO);
  options.tls_certificate_file = key_.c_str();
  EXPECT_EQ(tenon_server_create(&options, &server), TENON_ERROR_IO);
}

}  // namespace
}  // namespace tenon_http::test
