// Rules of paths on this system.
#include "base/path.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(Paths, AreAbsoluteOrNot) {
#ifdef _WIN32
  for (const char* path :
       {"C:\\a", "c:/a", "\\\\server\\share", "//server/share", "\\\\?\\C:\\a"}) {
    EXPECT_TRUE(is_absolute_path(path)) << path;
  }
  for (const char* path : {"", "C:", "C:a", "\\a", "/a", "a\\b", "1:/a"}) {
    EXPECT_FALSE(is_absolute_path(path)) << path;
  }
#else
  for (const char* path : {"/", "/a", "//a"}) EXPECT_TRUE(is_absolute_path(path)) << path;
  for (const char* path : {"", "a/b", "./a", "C:/a", "\\a"}) {
    EXPECT_FALSE(is_absolute_path(path)) << path;
  }
#endif
}

TEST(Paths, HaveAFolder) {
  EXPECT_EQ(folder_part("a/b/c"), "a/b/");
  EXPECT_EQ(folder_part("/c"), "/");
  EXPECT_EQ(folder_part("c"), "");
  EXPECT_TRUE(ends_with_separator("a/"));
  EXPECT_FALSE(ends_with_separator("a"));
  EXPECT_FALSE(ends_with_separator(""));
#ifdef _WIN32
  EXPECT_EQ(folder_part("a/b\\c"), "a/b\\");
  EXPECT_TRUE(ends_with_separator("a\\"));
#endif
}

}  // namespace
}  // namespace tenon
