// Expects a tenon::Error with a given code and text. For tests only.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"

namespace tenon {

/// Runs `action` and expects an Error with `code` whose message matches.
inline void expect_error(Code code, const testing::Matcher<const std::string&>& message,
                         const std::function<void()>& action) {
  try {
    action();
    ADD_FAILURE() << "no error; expected " << code_name(code);
  } catch (const Error& error) {
    EXPECT_EQ(code_name(error.code()), std::string(code_name(code))) << error.what();
    EXPECT_THAT(std::string(error.what()), message);
  }
}

}  // namespace tenon
