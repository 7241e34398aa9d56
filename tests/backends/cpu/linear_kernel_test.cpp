// Linear kernels of every instruction set of this machine: near the exact product, with equal bits
// for any number of rows per call.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/layouts/panels.h"
#include "quant/formats.h"

namespace tenon::cpu {
namespace {

struct Problem {
  const FormatInfo* format;
  uint64_t rows, depth, tokens;
  std::vector<uint8_t> packed;
  std::vector<float> weights;  // [rows, depth]
  std::vector<float> x;        // [tokens, depth]
  PackedWeight weight;
};

Problem make_problem(const FormatInfo& format, uint64_t rows, uint64_t depth, uint64_t tokens) {
  Problem p{&format, rows, depth, tokens, {}, {}, {}, {}};
  std::mt19937 random(3);
  std::normal_distribution<float> values;
  const PanelFormat& layout = panel_format(format.id);
  p.packed.resize(packed_bytes(layout, format, rows, depth) + 64);
  p.weight = {&layout, &format, rows, depth, p.packed.data()};
  p.weights.resize(rows * depth);
  const uint64_t bytes = *row_bytes(format, depth);
  std::vector<uint8_t> blocks(rows * bytes);
  std::vector<float> row(depth);
  for (uint64_t r = 0; r < rows; ++r) {
    for (float& v : row) v = values(random);
    // Some encoders are slow: rows past the seventh repeat the first ones.
    if (r < 7) {
      format.encode_row(row.data(), blocks.data() + r * bytes, depth);
    } else {
      std::memcpy(blocks.data() + r * bytes, blocks.data() + r % 7 * bytes, bytes);
    }
    format.decode_row(blocks.data() + r * bytes, p.weights.data() + r * depth, depth);
  }
  pack_rows(p.weight, 0, rows, blocks.data());
  p.x.resize(tokens * depth);
  for (float& v : p.x) v = values(random);
  return p;
}

/// y [tokens, rows] for tokens [first, first + count) of the problem, in one call.
std::vector<float> multiply(const Kernels& kernels, const Problem& p, uint64_t first,
                            uint64_t count) {
  std::vector<std::vector<float>> quantised;
  std::vector<float> tile(kTileDepth * kFloatPanelRows);
  std::vector<float> piece(kChunkFloats);
  const uint64_t stride = whole_panels(p.rows);
  std::vector<float> results(grouped_rows(count) * stride, -1.0f);
  LinearArgs args{};
  args.weights = p.packed.data();
  args.panel_bytes = panel_bytes(*p.weight.layout, p.depth);
  args.num_panels = (p.rows + p.weight.layout->panel_rows - 1) / p.weight.layout->panel_rows;
  args.weight_rows = p.rows;
  args.depth = p.depth;
  args.num_rows = count;
  args.x = p.x.data() + first * p.depth;
  args.x_stride = p.depth;
  args.y = results.data();
  args.y_stride = stride;
  args.tile = tile.data();
  args.chunk = piece.data();
  args.decode_row = p.format->decode_row;
  args.row_bytes = *row_bytes(*p.format, p.depth);
  args.block_values = p.format->block_values;
  args.block_bytes = p.format->block_bytes;
  if (const uint32_t format = activation_format(p.format->id, p.depth, kernels); format != 0) {
    args.quantised.num_rows = count;
    make_quant_rows(args.quantised, count, p.depth, format, kernels.reads_both,
                    [&](auto*& array, uint64_t size) {
                      quantised.emplace_back(size * sizeof(*array) / sizeof(float));
                      array = reinterpret_cast<std::remove_reference_t<decltype(array)>>(
                          quantised.back().data());
                    });
    kernels.quantise(args.x, p.depth, args.quantised, 0, count, 0, p.depth);
  }
  kernels.linear[static_cast<uint32_t>(p.weight.layout->kind)](args);
  std::vector<float> y(count * p.rows);
  for (uint64_t t = 0; t < count; ++t) {
    std::copy_n(results.data() + t * stride, p.rows, y.data() + t * p.rows);
  }
  return y;
}

double relative_rmse(const Problem& p, const std::vector<float>& y) {
  double error = 0, power = 0;
  for (uint64_t t = 0; t < p.tokens; ++t) {
    for (uint64_t r = 0; r < p.rows; ++r) {
      double want = 0;
      for (uint64_t k = 0; k < p.depth; ++k) {
        want += static_cast<double>(p.weights[r * p.depth + k]) * p.x[t * p.depth + k];
      }
      error += std::pow(want - y[t * p.rows + r], 2);
      power += want * want;
    }
  }
  return std::sqrt(error / power);
}

class LinearKernel : public testing::TestWithParam<const char*> {
 protected:
  const Kernels* kernels_ = choose_kernels(GetParam());
  [[nodiscard]] double max_error(const Problem& p) const;
  void SetUp() override {
    if (kernels_ == nullptr) GTEST_SKIP() << "this machine cannot run " << GetParam();
  }
};

/// Error bounds: bytes, 1/127 of the block's maximum, uniformly rounded; fixed point, 1/8191;
/// floats, 301 roundings.
double LinearKernel::max_error(const Problem& p) const {
  switch (activation_format(p.format->id, p.depth, *kernels_)) {
    case kActivationBytes:
      return 1e-2;
    case kActivationFixed:
      return 1.5e-4;
    default:
      return 1e-6;
  }
}

/// Without blocks: a depth that no vector divides; for fixed point also a depth of several runs of
/// tiles and a partial run. With blocks: a whole tile and a part of one.
std::vector<uint64_t> depths_of(const FormatInfo& format) {
  if (format.id == Format::F16 || format.id == Format::BF16) return {301, 2336};
  return {format.block_values == 1 ? uint64_t{301} : 768};
}

TEST_P(LinearKernel, IsNearTheExactProduct) {
  for (const FormatInfo& format : kFormats) {
    if (!format.weight || format.encode_row == nullptr) continue;
    for (const uint64_t depth : depths_of(format)) {
      SCOPED_TRACE(testing::Message() << format.name << ", depth " << depth);
      const Problem p = make_problem(format, 50, depth, 13);
      EXPECT_LT(relative_rmse(p, multiply(*kernels_, p, 0, p.tokens)), max_error(p));
    }
  }
}

TEST_P(LinearKernel, RowsDoNotDependOnTheirNeighbours) {
  for (const FormatInfo& format : kFormats) {
    if (!format.weight || format.encode_row == nullptr) continue;
    for (const uint64_t depth : depths_of(format)) {
      SCOPED_TRACE(testing::Message() << format.name << ", depth " << depth);
      const Problem p = make_problem(format, 50, depth, 29);
      const std::vector<float> together = multiply(*kernels_, p, 0, p.tokens);
      for (const uint64_t count : {1u, 2u, 3u, 5u, 6u, 7u, 10u, 11u, 20u}) {
        for (uint64_t t = 0; t + count <= p.tokens; t += count) {
          const std::vector<float> part = multiply(*kernels_, p, t, count);
          ASSERT_EQ(std::memcmp(part.data(), together.data() + t * p.rows, part.size() * 4), 0)
              << count << " rows from " << t;
        }
      }
    }
  }
}

/// Squared error of an activation block stored as the bytes nearest to x / scale.
double error_of_bytes(const float* x, double scale) {
  double error = 0;
  for (uint64_t k = 0; k < kActivationBlock; ++k) {
    error += std::pow(x[k] - scale * std::nearbyint(x[k] / scale), 2);
  }
  return error;
}

TEST_P(LinearKernel, TheScaleOfABlockOfBytesIsTheBestOfFour) {
  constexpr uint64_t kColumns = 512 * kActivationBlock;
  std::mt19937 random(7);
  std::normal_distribution<float> values;
  std::vector<float> x(kColumns);
  for (float& v : x) v = values(random);
  std::vector<std::vector<float>> arrays;
  QuantRows row{};
  row.num_rows = 1;
  make_quant_rows(
      row, 1, kColumns, kActivationBytes, kernels_->reads_both, [&](auto*& array, uint64_t size) {
        arrays.emplace_back(size * sizeof(*array) / sizeof(float) + 1);
        array = reinterpret_cast<std::remove_reference_t<decltype(array)>>(arrays.back().data());
      });
  kernels_->quantise(x.data(), kColumns, row, 0, 1, 0, kColumns);
  uint64_t chosen[4] = {};
  for (uint64_t block = 0; block < kColumns / kActivationBlock; ++block) {
    const float* of = x.data() + block * kActivationBlock;
    const int8_t* q = row.q + block * kActivationBlock;
    double largest = 0, error = 0;
    int most = 0;
    for (uint64_t k = 0; k < kActivationBlock; ++k) {
      largest = std::max<double>(largest, std::abs(of[k]));
      most = std::max(most, std::abs(q[k]));
      error += std::pow(of[k] - double{row.d[block]} * q[k], 2);
    }
    double best = INFINITY;
    for (const int byte : {124, 125, 126, 127}) {
      best = std::min(best, error_of_bytes(of, largest / byte));
    }
    EXPECT_LE(error, 1.001 * best) << "block " << block << ", largest byte " << most;
    ASSERT_TRUE(most >= 124 && most <= 127) << most;
    ++chosen[most - 124];
  }
  for (const uint64_t count : chosen) EXPECT_GT(count, 64u) << "an eighth of the blocks";
}

TEST_P(LinearKernel, LongRowsOfSignsAreTheSameByTablesAndByProducts) {
  // Six panels of one activation row are looked up, in tables of up to 4,096 values; fewer panels
  // or more rows are multiplied.
  for (const uint64_t depth : {4096u, 4224u, 8448u}) {
    SCOPED_TRACE(depth);
    const Problem p = make_problem(*find_format(Format::Q1_0), 90, depth, 5);
    const std::vector<float> together = multiply(*kernels_, p, 0, p.tokens);
    Problem few = p;
    few.rows = few.weight.rows = 32;
    for (uint64_t t = 0; t < p.tokens; ++t) {
      const std::vector<float> one = multiply(*kernels_, p, t, 1);
      EXPECT_EQ(std::memcmp(one.data(), together.data() + t * p.rows, one.size() * 4), 0);
      const std::vector<float> part = multiply(*kernels_, few, t, 1);
      EXPECT_EQ(std::memcmp(part.data(), together.data() + t * p.rows, part.size() * 4), 0);
    }
  }
}

TEST_P(LinearKernel, EveryCodeOfABlockHasItsWeight) {
  // Blocks of random bits: every index, sign and scale code, including those that encoders never
  // write.
  std::mt19937 random(5);
  for (const FormatInfo& format : kFormats) {
    if (!format.weight || format.block_values == 1) continue;
    SCOPED_TRACE(format.name);
    Problem p = make_problem(format, 48, 512, 3);
    const uint64_t bytes = *row_bytes(format, p.depth);
    std::vector<uint8_t> blocks(p.rows * bytes);
    for (uint8_t& b : blocks) b = static_cast<uint8_t>(random());
    std::fill(p.packed.begin(), p.packed.end(), uint8_t{0});
    pack_rows(p.weight, 0, p.rows, blocks.data());
    const std::vector<float> one = multiply(*kernels_, p, 0, 1);
    const std::vector<float> all = multiply(*kernels_, p, 0, p.tokens);
    std::vector<float> w(p.depth);
    for (uint64_t r = 0; r < p.rows; ++r) {
      format.decode_row(blocks.data() + r * bytes, w.data(), p.depth);
      double want = 0, size = 0;
      for (uint64_t k = 0; k < p.depth; ++k) {
        want += static_cast<double>(w[k]) * p.x[k];
        size += static_cast<double>(w[k]) * w[k];
      }
      // Scales of the last binades overflow when multiplied by codes.
      if (!(size < 1e60)) continue;
      const double bound = 0.05 * std::sqrt(size) + 1e-30;
      EXPECT_NEAR(one[r], want, bound) << "row " << r;
      EXPECT_NEAR(all[r], want, bound) << "row " << r;
    }
  }
}

TEST_P(LinearKernel, ABrokenActivationGivesNoNumber) {
  for (const Format id : {Format::Q4_0, Format::Q8_0, Format::Q6_K, Format::F16, Format::BF16,
                          Format::IQ4_NL, Format::IQ2_S, Format::TQ1_0, Format::MXFP4}) {
    Problem p = make_problem(*find_format(id), 16, 256, 1);
    for (const float broken : {NAN, INFINITY}) {
      p.x[100] = broken;
      for (const float y : multiply(*kernels_, p, 0, 1)) EXPECT_FALSE(std::isfinite(y));
    }
    constexpr uint64_t kTokens = 20, kBroken = 5;
    p = make_problem(*find_format(id), 16, 256, kTokens);
    p.x[kBroken * p.depth + 100] = p.x[kBroken * p.depth + 200] = INFINITY;
    const std::vector<float> all = multiply(*kernels_, p, 0, kTokens);
    for (uint64_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(std::isfinite(all[i]), i / p.rows != kBroken) << p.format->name << ", result " << i;
    }
  }
}

TEST_P(LinearKernel, LargestIntegersDoNotOverflow) {
  // Every weight and activation at its limit, signs alternating so that no sum cancels.
  for (const FormatInfo& format : kFormats) {
    if (!format.weight || format.block_values == 1) continue;
    const Format id = format.id;
    constexpr uint64_t kTokens = 30;  // enough for the kernels that unpack a panel once
    Problem p = make_problem(*find_format(id), 16, 256, kTokens);
    const uint64_t bytes = *row_bytes(*p.format, 256);
    std::vector<float> extreme(256);
    for (size_t k = 0; k < 256; ++k) extreme[k] = k % 2 == 0 ? -1.0f : 1.0f;
    std::vector<uint8_t> blocks(16 * bytes);
    std::fill(p.packed.begin(), p.packed.end(), uint8_t{0});
    for (uint64_t r = 0; r < 16; ++r) {
      if (r == 0) p.format->encode_row(extreme.data(), blocks.data(), 256);
      std::memcpy(blocks.data() + r * bytes, blocks.data(), r == 0 ? 0 : bytes);
      p.format->decode_row(blocks.data() + r * bytes, p.weights.data() + r * 256, 256);
    }
    pack_rows(p.weight, 0, 16, blocks.data());
    for (const float sign : {1.0f, -1.0f}) {
      for (size_t k = 0; k < p.x.size(); ++k) p.x[k] = sign * extreme[k % 256];
      EXPECT_LT(relative_rmse(p, multiply(*kernels_, p, 0, kTokens)), 1e-3) << p.format->name;
      std::fill(p.x.begin(), p.x.end(), sign);
      double want = 0;
      for (size_t k = 0; k < 256; ++k) want += static_cast<double>(sign) * p.weights[k];
      for (const uint64_t tokens : {uint64_t{1}, kTokens}) {
        const std::vector<float> y = multiply(*kernels_, p, 0, tokens);
        EXPECT_NEAR(y[(tokens - 1) * p.rows], want, 1e-2) << p.format->name << " x " << tokens;
      }
    }
  }
}

TEST_P(LinearKernel, SumsOfIntegersAreExactForAnyNumberOfRows) {
  // Activations that are bytes times 1: no error but that of the sum of blocks in f32. Half of them
  // are at their limit.
  constexpr uint64_t kTokens = 33, kRows = 41, kDepth = 512;
  std::mt19937 random(11);
  std::vector<float> x(kTokens * kDepth);
  for (size_t i = 0; i < x.size(); ++i) {
    const auto any = static_cast<float>(random() % 255) - 127;
    const float limit = random() % 2 == 0 ? 127 : -127;
    x[i] = i % kActivationBlock == 0 || random() % 2 == 0 ? limit : any;
  }
  for (const FormatInfo& format : kFormats) {
    if (!format.weight || format.encode_row == nullptr || format.block_values == 1) continue;
    SCOPED_TRACE(format.name);
    Problem p = make_problem(format, kRows, kDepth, kTokens);
    p.x = x;
    const std::vector<float> all = multiply(*kernels_, p, 0, kTokens);
    for (uint64_t t = 0; t < kTokens; ++t) {
      for (uint64_t r = 0; r < kRows; ++r) {
        double want = 0, size = 0;
        for (uint64_t k = 0; k < kDepth; ++k) {
          const double product = static_cast<double>(p.weights[r * kDepth + k]) * x[t * kDepth + k];
          want += product;
          size += std::abs(product);
        }
        ASSERT_NEAR(all[t * kRows + r], want, 1e-6 * size) << "row " << t << ", column " << r;
      }
    }
    for (uint64_t count = 1; count < kTokens; ++count) {
      const std::vector<float> first = multiply(*kernels_, p, 0, count);
      ASSERT_EQ(std::memcmp(first.data(), all.data(), first.size() * 4), 0) << count << " rows";
    }
  }
}

TEST_P(LinearKernel, MultipliesF16WithFloatsWhereAsked) {
  Kernels exact = *kernels_;
  exact.fixed_f16 = false;
  const Problem p = make_problem(*find_format(Format::F16), 50, 2336, 29);
  EXPECT_LT(relative_rmse(p, multiply(exact, p, 0, p.tokens)), 1e-6);
  if (kernels_->fixed_f16) {
    EXPECT_GT(relative_rmse(p, multiply(*kernels_, p, 0, p.tokens)), 1e-6);
  }
}

/// A weight [16, 256] of f16 or bf16 whose rows have one value each.
Problem make_rows_of(Format format, const std::vector<float>& values, uint64_t tokens) {
  Problem p = make_problem(*find_format(format), 16, 256, tokens);
  std::vector<uint8_t> blocks(16 * 512);
  for (uint64_t r = 0; r < 16; ++r) {
    const std::vector<float> row(256, values[r % values.size()]);
    p.format->encode_row(row.data(), blocks.data() + r * 512, 256);
    p.format->decode_row(blocks.data() + r * 512, p.weights.data() + r * 256, 256);
  }
  pack_rows(p.weight, 0, 16, blocks.data());
  return p;
}

/// Uses the longest significands, which come nearest to 2^31 in fixed point.
void expect_rows_of(const Kernels& kernels, Format format, const std::vector<float>& values) {
  constexpr uint64_t kTokens = 30;
  Problem p = make_rows_of(format, values, kTokens);
  for (const float sign : {1.0f, -1.0f}) {
    std::fill(p.x.begin(), p.x.end(), sign * 3.0f);
    for (const uint64_t tokens : {uint64_t{1}, kTokens}) {
      const std::vector<float> y = multiply(kernels, p, 0, tokens);
      for (uint64_t r = 0; r < p.rows; ++r) {
        const double want = 256.0 * p.weights[r * 256] * sign * 3;
        EXPECT_NEAR(y[r], want, 1e-5 * std::abs(want) + 1e-36) << "row " << r;
      }
    }
  }
}

TEST_P(LinearKernel, Bf16WeightsOfAllSizesAreMultiplied) {
  constexpr float kLongest = 1.9921875f;  // the smallest numbers are also nearly 0 in f32
  expect_rows_of(*kernels_, Format::BF16,
                 {kLongest, -kLongest, kLongest * 0x1p100f, kLongest * 0x1p-100f, 0.0f, 0x1p-120f,
                  0x1p-130f, 1.0f});
}

TEST_P(LinearKernel, F16WeightsOfAllSizesAreMultiplied) {
  constexpr float kLongest = 1.9990234375f;  // the smallest numbers are subnormal
  expect_rows_of(*kernels_, Format::F16,
                 {kLongest, -kLongest, kLongest * 0x1p15f, kLongest * 0x1p-14f, 0.0f, 0x1p-15f,
                  0x1.ff8p-15f, 0x1p-24f});
}

TEST_P(LinearKernel, ABrokenWeightOf16BitsGivesNoNumberInItsRow) {
  for (const Format format : {Format::F16, Format::BF16}) {
    const Problem p = make_rows_of(format, {1.0f, NAN, INFINITY, -INFINITY}, 20);
    for (const uint64_t tokens : {uint64_t{1}, p.tokens}) {
      const std::vector<float> y = multiply(*kernels_, p, 0, tokens);
      for (uint64_t r = 0; r < p.rows; ++r) {
        EXPECT_EQ(std::isfinite(y[r]), r % 4 == 0) << p.format->name << ", row " << r;
      }
    }
  }
}

/// The kernels of two instruction sets give the same bits.
void expect_equal(const char* plain_isa, const char* with_isa) {
  const Kernels* plain = choose_kernels(plain_isa);
  const Kernels* with = choose_kernels(with_isa);
  if (plain == nullptr || with == nullptr) GTEST_SKIP() << "this machine cannot run " << with_isa;
  for (const FormatInfo& format : kFormats) {
    if (!format.weight || format.block_values == 1) continue;
    const Problem p = make_problem(format, 50, 512, 29);  // groups of 4, and one column
    EXPECT_EQ(multiply(*plain, p, 0, p.tokens), multiply(*with, p, 0, p.tokens)) << format.name;
    EXPECT_EQ(multiply(*plain, p, 0, 1), multiply(*with, p, 0, 1)) << format.name;
  }
}
TEST(LinearKernels, MatrixInstructionsGiveTheSameBits) { expect_equal("neon", "neon_i8mm"); }
TEST(LinearKernels, DotProductInstructionsGiveTheSameBits) { expect_equal("avx2", "avx2_vnni"); }

INSTANTIATE_TEST_SUITE_P(Isa, LinearKernel,
                         testing::Values("portable", "avx2", "avx2_vnni", "avx512", "neon",
                                         "neon_i8mm"),
                         [](const auto& variant) { return std::string(variant.param); });

}  // namespace
}  // namespace tenon::cpu
