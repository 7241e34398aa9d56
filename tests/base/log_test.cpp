#include "base/log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tenon {
namespace {

TEST(Log, DefaultDoesNothing) { Log()(LogLevel::Error, "{}", 1); }

TEST(Log, HostGetsWhatItAskedFor) {
  std::vector<std::string> lines;
  Log log;
  log.user = &lines;
  log.write = [](void* user, int32_t level, const char* text, size_t length) {
    EXPECT_EQ(text[length], '\0');
    static_cast<std::vector<std::string>*>(user)->push_back(std::to_string(level) + text);
  };
  log(LogLevel::Debug, "not wanted");
  log(LogLevel::Info, "loaded {} tensors", 3);
  log.minimum = LogLevel::Error;
  log(LogLevel::Warning, "not wanted");
  EXPECT_EQ(lines, std::vector<std::string>{"1loaded 3 tensors"});
}

}  // namespace
}  // namespace tenon
