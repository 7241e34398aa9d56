// Calls of libcurl that write to a connection which the peer has closed, as TLS libraries do: each
// of these functions raises SIGPIPE, which ends a process that does not block it.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/faulty_system.h"
#include "hub/transport.h"

#define TENON_FAKE_CURL extern "C" __attribute__((visibility("default")))

namespace {

int num_pipe_signals = 0;
int handle = 0;

void write_to_nobody() {
  ++num_pipe_signals;
  ::pthread_kill(::pthread_self(), SIGPIPE);
}

}  // namespace

TENON_FAKE_CURL int curl_global_init(long) { return 0; }
TENON_FAKE_CURL void* curl_easy_init() { return &handle; }
TENON_FAKE_CURL int curl_easy_setopt(void*, int, ...) { return 0; }
TENON_FAKE_CURL void curl_easy_cleanup(void*) { write_to_nobody(); }
TENON_FAKE_CURL int curl_easy_getinfo(void*, int, ...) { return 0; }
TENON_FAKE_CURL const char* curl_easy_strerror(int) { return ""; }
TENON_FAKE_CURL void* curl_slist_append(void*, const char*) { return &handle; }
TENON_FAKE_CURL void curl_slist_free_all(void*) {}
TENON_FAKE_CURL void* curl_multi_init() { return &handle; }
TENON_FAKE_CURL int curl_multi_add_handle(void*, void*) {
  write_to_nobody();
  return 0;
}
TENON_FAKE_CURL int curl_multi_remove_handle(void*, void*) {
  write_to_nobody();
  return 0;
}
TENON_FAKE_CURL int curl_multi_perform(void*, int*) {
  write_to_nobody();
  return 0;
}
TENON_FAKE_CURL int curl_multi_poll(void*, void*, unsigned, int, int*) { return 0; }
TENON_FAKE_CURL void* curl_multi_info_read(void*, int*) { return nullptr; }
TENON_FAKE_CURL int curl_multi_cleanup(void*) {
  write_to_nobody();
  return 0;
}

namespace tenon::hub {
namespace {

/// A system whose libraries are this program.
class OwnSymbols : public FaultySystem {
 public:
  void* load_library(const char*, const char*&) noexcept override {
    return ::dlopen(nullptr, RTLD_NOW);
  }
};

class Nobody final : public HttpReceiver {
 public:
  bool head(const HttpHead&) override { return true; }
  bool body(std::span<const std::byte>) override { return true; }
  void end(const std::string&) override {}
};

TEST(HubTransport, SurvivesConnectionsThatThePeerClosed) {
  OwnSymbols system;
  const auto transport = open_curl(system, {});
  Nobody receiver;
  num_pipe_signals = 0;
  auto transfer = transport->start({"https://hub.example/x", {}}, receiver);
  EXPECT_EQ(num_pipe_signals, 1);
  transport->wait(0);
  const int before = num_pipe_signals;
  transfer.reset();
  EXPECT_EQ(num_pipe_signals, before + 2);
  sigset_t pending;
  ::sigpending(&pending);
  EXPECT_EQ(::sigismember(&pending, SIGPIPE), 0);
}

}  // namespace
}  // namespace tenon::hub
