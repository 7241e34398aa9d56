// Sessions saved to files and buffers and restored, over the C interface and in C++.
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "base/temp_folder.h"
#include "demo_session.h"

namespace {

#ifdef _WIN32
constexpr const char* kNoRegularFile = "NUL";
#else
constexpr const char* kNoRegularFile = "/dev/null";
#endif

using namespace tenon_test;

class CSnapshots : public DemoSession {
 protected:
  static std::vector<char> saved(const SessionPtr& session) {
    size_t size = 0;
    EXPECT_OK(tenon_session_save_buffer(session.get(), nullptr, 0, &size));
    std::vector<char> bytes(size);
    EXPECT_OK(tenon_session_save_buffer(session.get(), bytes.data(), bytes.size(), &size));
    EXPECT_EQ(size, bytes.size());
    return bytes;
  }
  static uint64_t position(const SessionPtr& session) {
    uint64_t position = 0;
    EXPECT_OK(tenon_session_position(session.get(), &position));
    return position;
  }
  const tenon::TempFolder folder_;  // a folder per test, since tests run in parallel
  const std::string path_ = folder_.path("snapshot");
};

TEST_F(CSnapshots, OfBuffersGoOn) {
  const SessionPtr original = session(kQuestion);
  generate(original, 3);
  const std::vector<char> bytes = saved(original);
  const SessionPtr restored = session("something else");
  ASSERT_OK(tenon_session_restore_buffer(restored.get(), bytes.data(), bytes.size(), 0));
  EXPECT_EQ(position(restored), position(original));
  EXPECT_EQ(generate(restored, 30).text, generate(original, 30).text);
}

TEST_F(CSnapshots, OfFilesGoOnAndReplaceTheOldOne) {
  std::ofstream(path_) << "old";
  const SessionPtr original = session(kQuestion);
  generate(original, 3);
  ASSERT_OK(tenon_session_save(original.get(), path_.c_str()));
  const SessionPtr restored = session();
  ASSERT_OK(tenon_session_restore(restored.get(), path_.c_str(), 0));
  EXPECT_EQ(generate(restored, 30).text, generate(original, 30).text);
}

TEST_F(CSnapshots, ThatCannotBeAreRefused) {
  const SessionPtr of = session(kQuestion);
  const uint64_t before = position(of);
  std::vector<char> bytes = saved(of);
  bytes[bytes.size() / 2] ^= 1;
  expect_failure(tenon_session_restore_buffer(of.get(), bytes.data(), bytes.size(), 0),
                 TENON_ERROR_FORMAT, "snapshot");
  expect_failure(tenon_session_restore_buffer(of.get(), bytes.data(), 7, TENON_RESTORE_TEXT),
                 TENON_ERROR_FORMAT, "ends at byte 7");
  expect_failure(tenon_session_restore_buffer(of.get(), nullptr, 7, 0), TENON_ERROR_ARGUMENT,
                 "data");
  expect_failure(tenon_session_restore_buffer(of.get(), bytes.data(), bytes.size(), 1),
                 TENON_ERROR_ARGUMENT, "flags");
  expect_failure(tenon_session_restore(of.get(), nullptr, 0), TENON_ERROR_ARGUMENT, "path");
  expect_failure(tenon_session_restore(of.get(), "/nowhere/session", 0), TENON_ERROR_IO,
                 "/nowhere");
  expect_failure(tenon_session_save(of.get(), "/nowhere/session"), TENON_ERROR_IO, "/nowhere");
  expect_failure(tenon_session_save(of.get(), kNoRegularFile), TENON_ERROR_IO, "regular");
  expect_failure(tenon_session_save(of.get(), ""), TENON_ERROR_ARGUMENT, "path");
  expect_failure(tenon_session_save_buffer(of.get(), nullptr, 1, nullptr), TENON_ERROR_ARGUMENT,
                 "size");
  size_t size = 0;
  expect_failure(tenon_session_save_buffer(of.get(), nullptr, 1, &size), TENON_ERROR_ARGUMENT,
                 "buffer");
  EXPECT_EQ(position(of), before);
}

TEST_F(CSnapshots, InCpp) {
  const tenon::Model model(TENON_DEMO_MODEL, {.threads = 2});
  tenon::Session session(model, {.context = 128});
  session.append("Once upon a time");
  session.prefill();
  session.save(path_);
  tenon::Session from_file(model, {.context = 128});
  from_file.restore(path_);
  tenon::Session from_bytes(model, {.context = 128});
  from_bytes.restore(session.save());
  const auto text = [](tenon::Session& of) {
    std::string all;
    for (const auto& piece : of.generate({.max_tokens = 10, .sampler = {.temperature = 0}})) {
      all += piece.text;
    }
    return all;
  };
  const std::string expected = text(session);
  EXPECT_EQ(text(from_file), expected);
  EXPECT_EQ(text(from_bytes), expected);
  EXPECT_THROW(from_file.restore("/nowhere"), tenon::Error);
}

}  // namespace
