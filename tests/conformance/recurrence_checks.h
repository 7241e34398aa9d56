// Checks a recurrent operation against a plain loop over tokens in f64: one token and many,
// concurrent sequences, states that are continued, copied and shared, and bits that do not depend
// on the slices of a prompt. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/conformance/program_runner.h"
#include "tests/conformance/tolerances.h"

namespace tenon::conformance {

inline constexpr StepLimits kScanLimits{64, 64};

/// An input of the operation and a map from standard normal values to its values.
struct Input {
  uint64_t columns;
  float (*shape)(float) = [](float x) { return x; };
};

/// Rows of the inputs for a token.
using Rows = std::vector<const float*>;

/// A recurrent operation and its plain loop.
struct Recurrence {
  std::vector<Input> inputs;
  uint64_t columns;  ///< columns of the result
  uint64_t state_values;
  std::function<Slot(ProgramBuilder&, const std::vector<Slot>&, const StatePlace&)> build;
  std::function<void(const Rows& x, std::vector<double>& state, double* out)> token;
};

/// Puts the operation in the second layer of a group, at an odd offset, between two neighbours.
inline Program program_of_scan(const Recurrence& recurrence) {
  constexpr uint32_t kOffset = 5;
  ProgramBuilder b;
  const auto values = static_cast<uint32_t>(recurrence.state_values);
  const uint32_t group = b.state_group(3, kOffset + values + 2);
  std::vector<Slot> inputs;
  for (size_t i = 0; i < recurrence.inputs.size(); ++i) {
    inputs.push_back(
        b.input("input" + std::to_string(i), TENON_ROWS_TOKENS, recurrence.inputs[i].columns));
  }
  b.result(recurrence.build(b, inputs, {group, 1, kOffset}));
  return std::move(b).finish(kNoSlot, kScanLimits);
}

/// Values of weight `name` in a Runner.
inline std::vector<float> weight_values(const char* name, uint64_t rows, uint64_t columns) {
  tenon_slot slot{};
  slot.kind = TENON_SLOT_WEIGHT;
  slot.type = TENON_TYPE_F32;
  slot.rows = rows;
  slot.columns = columns;
  slot.name = name;
  const std::vector<std::byte> bytes = random_blocks(slot);
  std::vector<float> values(rows * columns);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Inputs of sequences; values depend on the sequence and the position only.
class Text {
 public:
  Text(const Recurrence& recurrence, uint32_t sequence) : recurrence_(recurrence) {
    constexpr uint64_t kPositions = 64;
    for (size_t i = 0; i < recurrence.inputs.size(); ++i) {
      const Input& input = recurrence.inputs[i];
      values_.push_back(random_values(std::to_string(i) + " of " + std::to_string(sequence),
                                      kPositions * input.columns));
      for (float& value : values_.back()) value = input.shape(value);
    }
  }
  [[nodiscard]] const float* row(size_t input, uint32_t position) const {
    return values_[input].data() + position * recurrence_.inputs[input].columns;
  }

 private:
  const Recurrence& recurrence_;
  std::vector<std::vector<float>> values_;
};

/// Continues sequences from their previous tokens and tracks their positions.
class Feed {
 public:
  explicit Feed(const Recurrence& recurrence) : recurrence_(recurrence) {}

  struct Share {
    uint32_t sequence;
    uint32_t tokens;
  };
  StepPlan next(const std::vector<Share>& shares) {
    StepPlan plan;
    plan.rows.emplace();
    plan.inputs.resize(recurrence_.inputs.size());
    for (const Share& share : shares) {
      plan.parts.push_back({share.sequence, std::vector<int32_t>(share.tokens)});
      const Text text(recurrence_, share.sequence);
      for (uint32_t t = 0; t < share.tokens; ++t, ++past_[share.sequence]) {
        for (size_t i = 0; i < plan.inputs.size(); ++i) {
          const float* row = text.row(i, past_[share.sequence]);
          plan.inputs[i].insert(plan.inputs[i].end(), row, row + recurrence_.inputs[i].columns);
        }
      }
    }
    return plan;
  }

 private:
  const Recurrence& recurrence_;
  std::map<uint32_t, uint32_t> past_;
};

/// The plain loop over a sequence.
inline std::vector<float> expected_of(const Recurrence& recurrence, uint32_t sequence,
                                      uint32_t first, uint32_t count) {
  const Text text(recurrence, sequence);
  std::vector<double> state(recurrence.state_values);
  std::vector<double> out(recurrence.columns);
  std::vector<float> result;
  for (uint32_t position = 0; position < first + count; ++position) {
    Rows rows;
    for (size_t i = 0; i < recurrence.inputs.size(); ++i) rows.push_back(text.row(i, position));
    recurrence.token(rows, state, out.data());
    if (position >= first) result.insert(result.end(), out.begin(), out.end());
  }
  return result;
}

/// Expects steps of sequences with different pasts and lengths to match the plain loops.
inline void expect_like_loops(const Recurrence& recurrence, const RunnerOptions& options = {}) {
  const Program program = program_of_scan(recurrence);
  Runner runner(target(), program, options);
  Feed feed(recurrence);
  Deviation deviation;
  std::map<uint32_t, uint32_t> past;
  const std::vector<std::vector<Feed::Share>> steps = {{{0, 1}},
                                                       {{0, 5}},
                                                       {},
                                                       {{1, 9}, {0, 3}},
                                                       {{0, 43}, {2, 1}, {1, 2}},
                                                       {{2, 1}, {1, 1}, {0, 1}}};
  for (const std::vector<Feed::Share>& step : steps) {
    const std::vector<float> result = runner.run(feed.next(step));
    std::vector<float> expected;
    for (const auto& [sequence, tokens] : step) {
      const std::vector<float> rows = expected_of(recurrence, sequence, past[sequence], tokens);
      expected.insert(expected.end(), rows.begin(), rows.end());
      past[sequence] += tokens;
    }
    deviation.add(result, expected);
  }
  EXPECT_LE(deviation.relative_rmse(), float_tolerance());
}

/// 50 tokens of sequence 0 in slices, each beside a token of sequence `neighbour`, if nonzero.
inline std::vector<float> in_slices(const Recurrence& recurrence, uint32_t slice,
                                    const RunnerOptions& options = {}, uint32_t neighbour = 0) {
  constexpr uint32_t kTokens = 50;
  const Program program = program_of_scan(recurrence);
  Runner runner(target(), program, options);
  Feed feed(recurrence);
  std::vector<float> all;
  for (uint32_t done = 0; done < kTokens; done += slice) {
    const uint32_t count = std::min(slice, kTokens - done);
    std::vector<Feed::Share> shares;
    if (neighbour > 0) shares.push_back({neighbour, 1});
    shares.push_back({0, count});
    const std::vector<float> rows = runner.run(feed.next(shares));
    all.insert(all.end(), rows.end() - static_cast<ptrdiff_t>(count * recurrence.columns),
               rows.end());
  }
  return all;
}

inline void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

inline void expect_bits_do_not_depend_on_steps(const Recurrence& recurrence) {
  if (!is_batch_invariant()) return;
  const std::vector<float> whole = in_slices(recurrence, 50, {.host = {.threads = 1}});
  expect_same_bits(in_slices(recurrence, 1), whole);
  expect_same_bits(in_slices(recurrence, 7, {.host = {.threads = 3}}), whole);
  expect_same_bits(in_slices(recurrence, 7, {.host = {}, .copy_states = true}), whole);
  expect_same_bits(in_slices(recurrence, 13, {}, 3), whole);
}

inline void check(const Recurrence& recurrence) {
  expect_like_loops(recurrence);
  expect_like_loops(recurrence, {.host = {}, .copy_states = true});
  expect_bits_do_not_depend_on_steps(recurrence);
}

}  // namespace tenon::conformance
