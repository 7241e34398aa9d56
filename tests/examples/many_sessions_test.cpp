// Example with many conversations.
#include <gtest/gtest.h>

#include <string>

#include "examples/run_program.h"

namespace {

using namespace tenon_test;

TEST(ManySessions, AnswerAllOfThem) {
  const std::string out = output_of("many_sessions " TENON_DEMO_MODEL " 6");
  EXPECT_NE(out.find("\n6 requests, "), std::string::npos) << out;
  EXPECT_NE(out.find("64 of "), std::string::npos) << "the common beginning\n" << out;
  EXPECT_EQ(run_program("many_sessions /nowhere").exit_code, 1);
  EXPECT_EQ(run_program("many_sessions").exit_code, 1);
}

}  // namespace
