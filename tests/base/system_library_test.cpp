#include "base/system_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr const char* kNeed = "PNG pictures need libspng (Debian: libspng0)";

TEST(SystemLibrary, AnAbsentOneSaysWhatNeedsIt) {
  const auto system = System::real();
  EXPECT_THAT(
      [&] {
        SystemLibrary(*system, {"libtenon-none.so.1", "libtenon-none.so.2"}, kNeed);
      },
      ThrowsMessage<Error>(AllOf(HasSubstr(kNeed), HasSubstr("libtenon-none.so.2"))));
}

#ifdef __linux__

TEST(SystemLibrary, TheFirstNameThatOpensIsTaken) {
  const auto system = System::real();
  const SystemLibrary library(*system, {"libtenon-none.so.1", "libc.so.6"}, kNeed);
  int (*absolute)(int) = nullptr;
  library.find("abs", absolute);
  EXPECT_EQ(absolute(-7), 7);
  void (*none)() = nullptr;
  EXPECT_THAT([&] { library.find("tenon_no_such_function", none); },
              ThrowsMessage<Error>(AllOf(HasSubstr(kNeed), HasSubstr("tenon_no_such_function"))));
}

#endif

}  // namespace
}  // namespace tenon
