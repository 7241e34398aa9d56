// Filling steps of a program: slices that are refused.
#include "model/program_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/expect_error.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using testing::HasSubstr;

TEST(ProgramRunner, RefusesASliceThatBeginsPastItsText) {
  const auto model = load_tiny();
  ProgramRunner runner(model->trunk(), {}, model->options().system);
  const std::vector<Token> text = make_tokens(4);
  for (const uint64_t past : {uint64_t{5}, uint64_t{1} << 32, UINT64_MAX}) {
    expect_error(Code::Argument, HasSubstr("of a text of 4 tokens"),
                 [&] { runner.add({.text = text, .past = past, .num_tokens = 1}); });
  }
  EXPECT_EQ(runner.num_tokens(), 0u);
  runner.add({.text = text, .past = 3, .num_tokens = 1});
  EXPECT_EQ(runner.num_tokens(), 1u);
}

}  // namespace
}  // namespace tenon
