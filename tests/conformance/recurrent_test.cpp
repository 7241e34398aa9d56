// Recurrent operations against plain loops.
#include <gtest/gtest.h>

#include <cmath>

#include "program/operations.h"
#include "tests/conformance/recurrence_checks.h"

namespace tenon::conformance {
namespace {

Recurrence token_shift(uint64_t n) {
  return {.inputs = {{n}},
          .columns = n,
          .state_values = n,
          .build = [](ProgramBuilder& b, const std::vector<Slot>& x,
                      const StatePlace& place) { return op::token_shift(b, x[0], place); },
          .token =
              [n](const Rows& x, std::vector<double>& state, double* out) {
                for (uint64_t c = 0; c < n; ++c) {
                  out[c] = state[c];
                  state[c] = x[0][c];
                }
              }};
}

Recurrence conv(uint64_t n, uint64_t taps, bool bias) {
  const std::vector<float> weight = weight_values("filters", n, taps);
  const std::vector<float> biases = weight_values("bias", 1, n);
  return {.inputs = {{n}},
          .columns = n,
          .state_values = (taps - 1) * n,
          .build =
              [=](ProgramBuilder& b, const std::vector<Slot>& x, const StatePlace& place) {
                const Slot added = bias ? b.weight("bias", Format::F32, 1, n) : kNoSlot;
                return op::conv(b, x[0], b.weight("filters", Format::F32, n, taps), added, place);
              },
          .token =
              [=](const Rows& x, std::vector<double>& state, double* out) {
                state.insert(state.end(), x[0], x[0] + n);
                for (uint64_t c = 0; c < n; ++c) {
                  out[c] = bias ? biases[c] : 0;
                  for (uint64_t i = 0; i < taps; ++i) {
                    out[c] += double{weight[c * taps + i]} * state[i * n + c];
                  }
                }
                state.erase(state.begin(), state.begin() + static_cast<ptrdiff_t>(n));
              }};
}

struct ScanShape {
  uint32_t heads, p, groups, size;
  bool decay_per_value;
  bool skip;
};

Recurrence ssm_scan(const ScanShape& s) {
  const uint64_t decays = s.decay_per_value ? s.size : 1;
  const std::vector<float> a = weight_values("a", s.heads, decays);
  const std::vector<float> d = weight_values("d", 1, s.heads);
  const uint64_t columns = uint64_t{s.heads} * s.p;
  const Input small{s.heads, [](float x) { return 0.3f * x; }};
  const Input wide{uint64_t{s.groups} * s.size};
  return {.inputs = {{columns}, small, wide, wide},
          .columns = columns,
          .state_values = columns * s.size,
          .build =
              [=](ProgramBuilder& b, const std::vector<Slot>& x, const StatePlace& place) {
                const Slot skip = s.skip ? b.weight("d", Format::F32, 1, s.heads) : kNoSlot;
                return op::ssm_scan(
                    b, {x[0], x[1], b.weight("a", Format::F32, s.heads, decays), x[2], x[3], skip},
                    {place, s.heads, s.groups, s.size});
              },
          .token =
              [=](const Rows& x, std::vector<double>& state, double* out) {
                for (uint32_t j = 0; j < s.heads; ++j) {
                  const uint32_t group = j / (s.heads / s.groups);
                  const double dt = x[1][j];
                  for (uint32_t p = 0; p < s.p; ++p) {
                    const uint64_t column = uint64_t{j} * s.p + p;
                    out[column] = s.skip ? double{d[j]} * x[0][column] : 0;
                    for (uint32_t n = 0; n < s.size; ++n) {
                      double& value = state[column * s.size + n];
                      value = std::exp(dt * a[j * decays + (decays == 1 ? 0 : n)]) * value +
                              dt * x[0][column] * x[2][group * s.size + n];
                      out[column] += value * x[3][group * s.size + n];
                    }
                  }
                }
              }};
}

struct RuleShape {
  uint32_t key_heads, value_heads, dk, dv;
  bool decay_per_key;
  bool interleaved;
};

Recurrence delta_rule(const RuleShape& s) {
  const uint64_t keys = uint64_t{s.key_heads} * s.dk;
  const uint64_t values = uint64_t{s.value_heads} * s.dv;
  constexpr float kScale = 0.25f;
  const Input key{keys, [](float x) { return 0.3f * x; }};
  const Input decay{uint64_t{s.value_heads} * (s.decay_per_key ? s.dk : 1),
                    [](float x) { return x > 2 ? -200.0f : -0.2f * x * x; }};
  const Input beta{s.value_heads, [](float x) { return 1 / (1 + std::exp(-x)); }};
  return {.inputs = {{keys}, key, {values}, decay, beta},
          .columns = values,
          .state_values = values * s.dk,
          .build =
              [=](ProgramBuilder& b, const std::vector<Slot>& x, const StatePlace& place) {
                return op::delta_rule(b, {x[0], x[1], x[2], x[3], x[4]},
                                      {place, s.key_heads, s.value_heads, s.interleaved, kScale});
              },
          .token =
              [=](const Rows& x, std::vector<double>& state, double* out) {
                for (uint32_t j = 0; j < s.value_heads; ++j) {
                  const uint32_t h =
                      s.interleaved ? j % s.key_heads : j / (s.value_heads / s.key_heads);
                  const float* q = x[0] + h * s.dk;
                  const float* k = x[1] + h * s.dk;
                  double* head = state.data() + uint64_t{j} * s.dk * s.dv;
                  for (uint32_t c = 0; c < s.dv; ++c) {
                    double read = 0;
                    for (uint32_t i = 0; i < s.dk; ++i) {
                      head[i * s.dv + c] *=
                          std::exp(double{x[3][s.decay_per_key ? j * s.dk + i : j]});
                      read += head[i * s.dv + c] * k[i];
                    }
                    const double change = x[4][j] * (x[2][j * s.dv + c] - read);
                    double sum = 0;
                    for (uint32_t i = 0; i < s.dk; ++i) {
                      head[i * s.dv + c] += k[i] * change;
                      sum += head[i * s.dv + c] * q[i];
                    }
                    out[j * s.dv + c] = kScale * sum;
                  }
                }
              }};
}

Recurrence wkv7(uint32_t heads, uint32_t d) {
  const uint64_t n = uint64_t{heads} * d;
  const Input small{n, [](float x) { return 0.2f * x; }};
  const Input decay{n, [](float x) { return std::exp(-0.6f / (1 + std::exp(-x))); }};
  return {.inputs = {{n}, decay, {n}, {n}, small, small},
          .columns = n,
          .state_values = n * d,
          .build =
              [=](ProgramBuilder& b, const std::vector<Slot>& x, const StatePlace& place) {
                return op::wkv7(b, {x[0], x[1], x[2], x[3], x[4], x[5]}, heads, place);
              },
          .token =
              [=](const Rows& x, std::vector<double>& state, double* out) {
                for (uint32_t h = 0; h < heads; ++h) {
                  const auto at = [&](int input, uint32_t i) {
                    return double{x[static_cast<size_t>(input)][h * d + i]};
                  };
                  for (uint32_t i = 0; i < d; ++i) {
                    double* row = state.data() + (uint64_t{h} * d + i) * d;
                    double read = 0;
                    for (uint32_t j = 0; j < d; ++j) read += row[j] * at(4, j);
                    double sum = 0;
                    for (uint32_t j = 0; j < d; ++j) {
                      row[j] = row[j] * at(1, j) + read * at(5, j) + at(3, i) * at(2, j);
                      sum += row[j] * at(0, j);
                    }
                    out[h * d + i] = sum;
                  }
                }
              }};
}

Recurrence wkv6(uint32_t heads, uint32_t d, bool bonus) {
  const uint64_t n = uint64_t{heads} * d;
  const Input small{n, [](float x) { return 0.2f * x; }};
  const Input decay{n, [](float x) { return std::exp(-std::exp(x - 1)); }};
  const std::vector<float> weights = weight_values("bonus", 1, n);
  return {.inputs = {{n}, decay, small, {n}},
          .columns = n,
          .state_values = n * d,
          .build =
              [=](ProgramBuilder& b, const std::vector<Slot>& x, const StatePlace& place) {
                const Slot u = bonus ? b.weight("bonus", Format::F32, 1, n) : kNoSlot;
                return op::wkv6(b, {x[0], x[1], x[2], x[3], u}, heads, place);
              },
          .token =
              [=](const Rows& x, std::vector<double>& state, double* out) {
                for (uint64_t value = 0; value < n; ++value) {
                  const uint64_t first = value / d * d;  // first key of the head
                  out[value] = 0;
                  for (uint64_t key = first; key < first + d; ++key) {
                    double& kept = state[key * d + value - first];
                    const double added = double{x[2][key]} * x[3][value];
                    const double before = kept + weights[key] * added;
                    kept = kept * x[1][key] + added;
                    out[value] += x[0][key] * (bonus ? before : kept);
                  }
                }
              }};
}

// One column, odd counts, whole vectors and tiles and one more, several work items.
constexpr uint64_t kScanWidths[] = {1, 3, 16, 17, 33, 96, 2049};

TEST(TokenShift, GivesTheRowBefore) {
  for (const uint64_t n : kScanWidths) {
    SCOPED_TRACE(n);
    check(token_shift(n));
  }
}

TEST(Conv, OfAnyTaps) {
  for (const uint64_t n : kScanWidths) {
    for (const uint64_t taps : {1, 2, 3, 4, 9}) {
      if (n > 1000 && taps != 4) continue;
      SCOPED_TRACE(testing::Message() << n << " columns, " << taps << " taps");
      check(conv(n, taps, taps % 2 == 0));
    }
  }
}

TEST(Conv, WithFiltersInF16) {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("table_x", Format::F32, 37, 40));
  const Slot bias = b.weight("bias", Format::BF16, 1, 40);
  const Slot y =
      op::conv(b, x, b.weight("filters", Format::F16, 40, 4), bias, {b.state_group(1, 120), 0, 0});
  const std::vector<StepPlan> steps = {one_sequence(0, 37), one_sequence(3, 37),
                                       one_sequence(1, 37), one_sequence(64, 37)};
  expect_like_reference(std::move(b).finish(op::gather_rows(b, y), kScanLimits), steps,
                        float_tolerance());
}

TEST(SsmScan, OfHeadsAndOfChannels) {
  for (const ScanShape& shape :
       {ScanShape{1, 1, 1, 1, false, false}, ScanShape{3, 64, 1, 128, false, true},  // Mamba 2
        ScanShape{4, 33, 2, 7, false, true},   // lanes past a tile
        ScanShape{2, 5, 2, 16, true, false},   // a decay per value of a head
        ScanShape{96, 1, 1, 16, true, true},   // Mamba 1
        ScanShape{66, 1, 2, 3, true, true},    // channels in two groups, past a tile
        ScanShape{17, 1, 1, 4, false, false},  // a decay per channel
        ScanShape{6, 16, 3, 17, false, false}}) {
    SCOPED_TRACE(testing::Message() << shape.heads << " x " << shape.p << " x " << shape.size);
    check(ssm_scan(shape));
  }
}

TEST(DeltaRule, OfHeadsThatShareKeys) {
  for (const RuleShape& shape :
       {RuleShape{1, 1, 1, 1, false, false}, RuleShape{2, 4, 128, 128, false, true},    // Qwen 3.5
        RuleShape{2, 4, 128, 128, false, false}, RuleShape{2, 2, 64, 64, true, false},  // Kimi
        RuleShape{1, 3, 17, 33, true, true}, RuleShape{3, 6, 5, 16, false, true},
        RuleShape{2, 2, 7, 15, false, false}}) {
    SCOPED_TRACE(testing::Message() << shape.value_heads << " x " << shape.dk << " x " << shape.dv);
    check(delta_rule(shape));
  }
}

TEST(Wkv7, OfAnyHead) {
  for (const auto& [heads, d] : {std::pair{1u, 1u}, {3u, 64u}, {2u, 33u}, {5u, 16u}, {2u, 40u}}) {
    SCOPED_TRACE(testing::Message() << heads << " x " << d);
    check(wkv7(heads, d));
  }
}

TEST(Wkv6, OfAnyHeadWithABonusAndWithout) {
  for (const auto& [heads, d] : {std::pair{1u, 1u}, {3u, 64u}, {2u, 33u}, {5u, 16u}, {2u, 40u}}) {
    for (const bool bonus : {true, false}) {
      SCOPED_TRACE(testing::Message() << heads << " x " << d << (bonus ? " with a bonus" : ""));
      check(wkv6(heads, d, bonus));
    }
  }
}

TEST(State, ForksAndGoesOnFromBoth) {
  const Recurrence recurrence = wkv7(2, 40);
  const Program program = program_of_scan(recurrence);
  Runner runner(target(), program);
  Feed feed(recurrence);
  (void)runner.run(feed.next({{0, 11}}));
  runner.fork(0, 1);
  // Both continue with equal values; sequence 1 first, which reads the state of sequence 0.
  StepPlan next = feed.next({{0, 4}});
  next.parts[0].sequence = 1;
  const std::vector<float> forked = runner.run(next);
  next.parts[0].sequence = 0;
  const std::vector<float> original = runner.run(next);
  expect_same_bits(forked, original);
  Deviation deviation;
  deviation.add(original, expected_of(recurrence, 0, 11, 4));
  EXPECT_LE(deviation.relative_rmse(), float_tolerance());
}

TEST(State, IsSharedByOperationsBesideEachOther) {
  // Like a layer: a convolution and a rule in one state, between linears and in two layers.
  constexpr uint32_t kWidth = 96, kHeads = 3, kDim = 32, kVocab = 37;
  ProgramBuilder b;
  const uint32_t group = b.state_group(2, 3 * 3 * kWidth + kHeads * kDim * kDim);
  Slot x = op::embed(b, b.weight("table_x", Format::F32, kVocab, kWidth));
  for (uint32_t layer = 0; layer < 2; ++layer) {
    const auto weight = [&](const char* name, uint64_t rows, uint64_t columns) {
      return b.weight(name + std::to_string(layer), Format::F32, rows, columns);
    };
    const auto filtered = [&](const char* name, uint32_t place) {
      const Slot made = op::linear(b, x, weight(name, kWidth, kWidth));
      return op::conv(b, made, weight((std::string(name) + " filters").c_str(), kWidth, 4), kNoSlot,
                      {group, layer, place * 3 * kWidth});
    };
    const Slot q = filtered("q", 0), k = op::scale(b, filtered("k", 1), 0.2f), v = filtered("v", 2);
    const Slot decay = op::scale(b, op::linear(b, x, weight("decay", kHeads, kWidth)), 0.1f);
    const Slot beta = op::scale(b, op::linear(b, x, weight("beta", kHeads, kWidth)), 0.2f);
    const Slot out = op::delta_rule(b, {q, k, v, decay, beta},
                                    {{group, layer, 9 * kWidth}, kHeads, kHeads, false, 0.2f});
    x = op::add(b, x, op::linear(b, out, weight("out", kWidth, kWidth)));
  }
  const Program program = std::move(b).finish(op::gather_rows(b, x), kScanLimits);
  const std::vector<StepPlan> steps = {
      {{{0, tokens(19, kVocab)}}},
      {{{0, tokens(1, kVocab, 5)}}},
      {{{1, tokens(33, kVocab, 7)}, {0, tokens(2, kVocab, 30)}}},
      {{{0, tokens(1, kVocab)}, {1, tokens(1, kVocab, 1)}, {2, tokens(3, kVocab, 2)}}}};
  expect_like_reference(program, steps, model_tolerance());
}

}  // namespace
}  // namespace tenon::conformance
