// Ten times as much input from callers, files and models takes about ten times as long, or is
// refused: common part of the tables in linear_time_of_*_test.cpp. Every function that takes texts
// is in one of them.
#pragma once

#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/processor_time.h"
#include "handles.h"

namespace tenon_test {

// Linear work takes 10 times as long, sorting 13 times, and work that exceeds the caches up to
// twice that; quadratic work takes 100 times. The minimum time excludes one-time setup. Work is
// repeated only if it seems too long.
inline constexpr double kMostTimes = 25;
inline constexpr double kLeastSeconds = 0.008;

/// Text of `times` units.
inline std::string repeated(std::string_view unit, size_t times) {
  std::string out;
  out.reserve(unit.size() * times);
  for (size_t i = 0; i < times; ++i) out += unit;
  return out;
}

/// `each` with # replaced by 0, 1, ... in fixed width, `times` times, separated by `between`.
inline std::string numbered(std::string_view each, size_t times, std::string_view between = ",") {
  std::string out;
  for (size_t i = 0; i < times; ++i) {
    if (i != 0) out += between;
    for (const char c : each) {
      if (c == '#')
        out += std::to_string(1'000'000 + i);
      else
        out += c;
    }
  }
  return out;
}

/// Expects an allowed status: success or a refusal.
inline void expect_answer(tenon_status status) {
  EXPECT_NE(status, TENON_ERROR_INTERNAL) << tenon_last_error();
  EXPECT_NE(status, TENON_ERROR_NO_MEMORY) << tenon_last_error();
}

struct Case {
  const char* name;
  size_t size;  ///< the smaller size
  std::function<void(size_t)> work;
};

inline void expect_linear(const std::vector<Case>& cases) {
  for (const Case& tested : cases) {
    if (tenon::kSanitized) {  // sanitizers distort times
      tested.work(tested.size);
      continue;
    }
    const auto seconds = [&](size_t size, double enough) {
      return tenon::processor_seconds([&] { tested.work(size); }, enough);
    };
    const double small = std::max(seconds(tested.size, kLeastSeconds), kLeastSeconds);
    const double large = seconds(10 * tested.size, kMostTimes * small);
    EXPECT_LE(large, kMostTimes * small)
        << tested.name << ": " << small << " s, then " << large << " s";
  }
}

struct Text {
  const char* name;
  size_t size;
  std::string (*make)(size_t);
};

inline std::string object(const std::string& properties, const std::string& others = "") {
  return R"({"type": "object", "properties": {)" + properties + "}" + others + "}";
}

/// numbered() replaces # by the number; ~ stands for # in references.
inline std::string text_of(const Text& text, size_t size) {
  std::string out = text.make(size);
  for (char& c : out) {
    if (c == '~') c = '#';
  }
  return out;
}

}  // namespace tenon_test
