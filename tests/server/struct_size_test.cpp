// Structures from programs built against an older or a newer server.h.
#include <gmock/gmock.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

TEST(ServerStructSize, ImpossibleSizesAreRefused) {
  for (const uint32_t size : {0U, 7U, 4097U}) {
    tenon_server_options options{};
    options.struct_size = size;
    tenon_server* server = nullptr;
    EXPECT_EQ(tenon_server_create(&options, &server), TENON_ERROR_ARGUMENT);
    EXPECT_THAT(tenon_server_last_error(),
                testing::HasSubstr("tenon_server_options.struct_size is " + std::to_string(size)));
  }
}

TEST(ServerStructSize, AnOlderProgramIsServed) {
  tenon_server_options options;
  std::memset(&options, 0x5a, sizeof options);  // bytes beyond the structure are not read
  std::memset(&options, 0, offsetof(tenon_server_options, echo_bytes));
  options.struct_size = offsetof(tenon_server_options, echo_bytes);
  const RunningServer server(options);
  tenon_server_request request;
  std::memset(&request, 0x5a, sizeof request);
  request.struct_size = offsetof(tenon_server_request, api_key);
  request.method = "GET";
  request.target = "/v1/models";
  request.body = nullptr;
  request.body_length = 0;
  tenon_server_call* call = nullptr;
  ASSERT_EQ(tenon_server_submit(server.get(), &request, &call), TENON_OK)
      << tenon_server_last_error();
  tenon_server_part part;
  do {
    std::memset(&part, 0x5a, sizeof part);
    part.struct_size = offsetof(tenon_server_part, bytes);
    ASSERT_EQ(tenon_server_call_wait(call, 10, &part), TENON_OK);
  } while (part.is_last == 0);
  EXPECT_EQ(part.http_status, 200);
  EXPECT_EQ(part.struct_size, offsetof(tenon_server_part, bytes));
  EXPECT_EQ(part.length, 0x5a5a5a5a5a5a5a5aU) << "not a byte behind its end";
  tenon_server_call_destroy(call);
}

TEST(ServerStructSize, ANewerProgramMayNotSetWhatThisVersionLacks) {
  struct {
    tenon_server_options known;
    uint64_t added;
  } newer{};
  newer.known.struct_size = sizeof newer;
  tenon_server* server = nullptr;
  ASSERT_EQ(tenon_server_create(&newer.known, &server), TENON_OK);
  tenon_server_destroy(server);
  newer.added = 1;
  EXPECT_EQ(tenon_server_create(&newer.known, &server), TENON_ERROR_UNSUPPORTED);
  EXPECT_THAT(
      tenon_server_last_error(),
      testing::HasSubstr("sets a field at byte " + std::to_string(sizeof(tenon_server_options))));
}

}  // namespace
}  // namespace tenon_http::test
