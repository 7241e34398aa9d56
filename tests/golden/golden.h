// Files with known results and measures of distance between logits. For tests only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace tenon::golden {

/// A path in the folder of vectors beside the project.
inline std::string shared_path(const std::string& name) {
  return std::string(TENON_SHARED_DIR) + "/" + name;
}

/// Skips the test with a message if a file of that folder is missing.
#define TENON_SKIP_WITHOUT(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << (path) << " is absent"

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Little-endian f32 values.
inline std::vector<float> read_floats(const std::string& path) {
  const std::string bytes = read_text(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::copy_n(bytes.data(), values.size() * sizeof(float), reinterpret_cast<char*>(values.data()));
  return values;
}

/// Largest relative differences of logits with f32 weights and cache. Measured up to 2.2e-6 and
/// 6e-6.
inline constexpr double kMaxReferenceError = 3e-5;
inline constexpr double kMaxCpuError = 2e-4;

/// RMS of the difference, relative to the RMS of `expected`.
inline double relative_rmse(std::span<const float> actual, std::span<const float> expected) {
  double error = 0;
  double power = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += std::pow(double{actual[i]} - expected[i], 2);
    power += std::pow(double{expected[i]}, 2);
  }
  return std::sqrt(error / power);
}

/// Largest difference, relative to the largest of `expected`; NaN counts as infinite.
inline double largest_relative_error(std::span<const float> actual,
                                     std::span<const float> expected) {
  if (actual.size() != expected.size()) return INFINITY;
  double error = 0;
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(double{actual[i]} - expected[i]);
    error = std::isnan(difference) ? INFINITY : std::max(error, difference);
    largest = std::max(largest, std::abs(double{expected[i]}));
  }
  return error / largest;
}

/// Logarithms of the softmax of a row.
inline std::vector<double> log_softmax(std::span<const float> logits) {
  const double max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - max);
  std::vector<double> out;
  for (const float x : logits) out.push_back(x - max - std::log(sum));
  return out;
}

/// Kullback-Leibler divergence of the distributions of `actual` from those of `expected`, both
/// [rows, columns], in nats and averaged over rows.
inline double mean_kl(std::span<const float> actual, std::span<const float> expected,
                      size_t columns) {
  double sum = 0;
  const size_t rows = expected.size() / columns;
  for (size_t row = 0; row < rows; ++row) {
    const std::vector<double> p = log_softmax(expected.subspan(row * columns, columns));
    const std::vector<double> q = log_softmax(actual.subspan(row * columns, columns));
    for (size_t i = 0; i < columns; ++i) sum += std::exp(p[i]) * (p[i] - q[i]);
  }
  return sum / static_cast<double>(rows);
}

}  // namespace tenon::golden
