// Rows of the 8-bit and 4-bit KV caches: rotation, size of errors, broken values.
#include "quant/cache_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tenon {
namespace {

constexpr uint64_t kSizes[] = {1, 2, 3, 16, 48, 64, 80, 128, 1024};

std::vector<float> random_row(uint64_t n) {
  std::mt19937 random(static_cast<uint32_t>(n));
  std::normal_distribution<float> values;
  std::vector<float> row(n);
  for (float& v : row) v = values(random);
  return row;
}

double norm(const std::vector<float>& row) {
  double sum = 0;
  for (const float v : row) sum += double{v} * v;
  return std::sqrt(sum);
}

/// Distance of the stored row from `row`, relative to its length.
double int8_error(const std::vector<float>& row) {
  std::vector<int8_t> levels(row.size());
  const float scale = f16_to_f32(encode_row_int8(row.data(), row.size(), levels.data()));
  std::vector<float> difference(row);
  for (size_t i = 0; i < row.size(); ++i) difference[i] -= scale * static_cast<float>(levels[i]);
  return norm(difference) / norm(row);
}
double q4_error(const std::vector<float>& row) {
  std::vector<uint8_t> codes(row.size());
  std::vector<float> rotated(row);
  const float scale = f16_to_f32(encode_row_q4(rotated.data(), row.size(), codes.data()));
  std::vector<float> back(row.size());
  for (size_t i = 0; i < row.size(); ++i) back[i] = scale * q4_level(codes[i]);
  rotate_row(back.data(), back.size());
  for (size_t i = 0; i < row.size(); ++i) back[i] -= row[i];
  return norm(back) / norm(row);
}

TEST(CacheRow, TheRotationKeepsLengthsAndUndoesItself) {
  for (const uint64_t n : kSizes) {
    const std::vector<float> row = random_row(n);
    std::vector<float> rotated(row);
    rotate_row(rotated.data(), n);
    EXPECT_NEAR(norm(rotated), norm(row), 1e-5 * norm(row)) << n;
    if (n >= 16) {
      EXPECT_NE(rotated, row) << n;
    }
    rotate_row(rotated.data(), n);
    for (uint64_t i = 0; i < n; ++i) EXPECT_NEAR(rotated[i], row[i], 1e-5) << n << ", " << i;
  }
}

TEST(CacheRow, TheRotationSpreadsAnOutlier) {
  std::vector<float> row(64);
  row[5] = 8;
  rotate_row(row.data(), row.size());
  for (const float v : row) EXPECT_EQ(std::fabs(v), 1.0f);
}

TEST(CacheRow, ErrorsAreThoseOfTheStepSize) {
  for (const uint64_t n : kSizes) {
    if (n < 16) continue;
    EXPECT_LT(int8_error(random_row(n)), 0.011) << n;
    EXPECT_LT(q4_error(random_row(n)), 0.13) << n;
  }
  std::vector<float> outlier = random_row(64);
  outlier[7] = 40;
  EXPECT_LT(q4_error(outlier), 0.13);
}

TEST(CacheRow, ZerosStayZeros) {
  const std::vector<float> row(64);
  std::vector<int8_t> levels(64, 1);
  EXPECT_EQ(encode_row_int8(row.data(), 64, levels.data()), 0);
  EXPECT_EQ(std::count(levels.begin(), levels.end(), 0), 64);
  std::vector<float> rotated(row);
  std::vector<uint8_t> codes(64);
  EXPECT_EQ(encode_row_q4(rotated.data(), 64, codes.data()), 0);
}

TEST(CacheRow, SmallAndLargeRowsKeepTheirLevels) {
  for (const float size : {1e-3f, 1.0f, 1e5f}) {
    std::vector<float> row = random_row(64);
    for (float& v : row) v *= size;
    std::vector<int8_t> levels(64);
    encode_row_int8(row.data(), 64, levels.data());
    const auto largest = std::max_element(
        row.begin(), row.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
    EXPECT_GE(std::abs(levels[static_cast<size_t>(largest - row.begin())]), 100) << size;
  }
}

TEST(CacheRow, ABrokenValueBreaksTheRow) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38f}) {
    std::vector<float> row = random_row(64);
    row[40] = bad;
    std::vector<int8_t> levels(64);
    EXPECT_FALSE(std::isfinite(f16_to_f32(encode_row_int8(row.data(), 64, levels.data()))));
    std::vector<uint8_t> codes(64);
    EXPECT_FALSE(std::isfinite(f16_to_f32(encode_row_q4(row.data(), 64, codes.data()))));
    EXPECT_LE(*std::max_element(codes.begin(), codes.end()), 15);
  }
}

}  // namespace
}  // namespace tenon
