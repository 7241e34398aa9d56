// Rows chosen by an index in two steps, candidate blocks and then rows of these, against double
// loops. Scores are small integers with exact sums and frequent ties.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "program/operations.h"
#include "tests/conformance/program_runner.h"

namespace tenon::conformance {
namespace {

struct TwoSteps {
  uint32_t heads = 3;
  uint32_t key_dim = 8;
  uint32_t stride = 1;
  uint32_t blocks = 4;
  uint32_t block = 3;
  uint32_t count = 5;
  uint32_t type = TENON_TYPE_F32;
  uint32_t block_tokens = 16;
};

void PrintTo(const TwoSteps& f, std::ostream* out) {
  *out << f.count << " rows of " << f.blocks << " blocks of " << f.block << ", stride " << f.stride
       << ", blocks of " << f.block_tokens;
}

/// Values -2 .. 2 of tokens by position, so that a text may be cut anywhere.
std::vector<float> small_values(uint32_t first, uint32_t count, uint64_t columns, uint32_t seed) {
  std::vector<float> made;
  for (uint64_t i = first * columns; i < (uint64_t{first} + count) * columns; ++i) {
    uint64_t state = (i + 1) * 0x9e3779b97f4a7c15u + seed * 0xbf58476d1ce4e5b9u;
    state ^= state >> 29;
    state *= 0x94d049bb133111ebu;
    made.push_back(static_cast<float>((state >> 40) % 5) - 2);
  }
  return made;
}

enum Seed : uint32_t { kQuery = 1, kWeights, kKeys, kOtherQuery, kOtherWeights };

/// Results: candidates [T, blocks], then rows [T, count] by other queries and weights.
Program two_step_program(const TwoSteps& f, uint32_t max_tokens) {
  ProgramBuilder b;
  CacheGroup rows{2, 1, f.key_dim, f.key_dim, f.type, f.block_tokens, 0, TENON_CACHE_LATENT};
  rows.stride = f.stride;
  const uint32_t group = b.cache_group(rows);
  const auto input = [&](const char* name, uint64_t columns) {
    return b.input(name, TENON_ROWS_TOKENS, columns);
  };
  const Slot query = input("query", uint64_t{f.heads} * f.key_dim);
  const Slot weights = input("weights", f.heads);
  const Slot key = input("key", f.key_dim);
  const Slot other_query = input("other query", uint64_t{f.heads} * f.key_dim);
  const Slot other_weights = input("other weights", f.heads);
  op::kv_write(b, key, kNoSlot, group, 1);
  const SelectWithinOptions blocks{group, 1, f.heads, f.blocks, f.block};
  const Slot candidates = op::select_candidates(b, query, weights, blocks);
  const Slot chosen = op::select_within(b, other_query, other_weights, candidates,
                                        {group, 1, f.heads, f.count, f.block});
  b.result(candidates);
  b.result(chosen);
  return std::move(b).finish(
      op::gather_rows(b, op::embed(b, b.weight("t", Format::F32, kVocab, 1))),
      {max_tokens, max_tokens});
}

/// Numbers of the `count` largest scores, ascending, then -1.
std::vector<float> best(const std::vector<double>& scores, const std::vector<uint32_t>& numbers,
                        uint32_t count) {
  std::vector<bool> taken(scores.size());
  for (uint32_t n = 0; n < std::min<size_t>(count, scores.size()); ++n) {
    int64_t top = -1;
    for (size_t i = 0; i < scores.size(); ++i) {
      if (!taken[i] && (top < 0 || scores[i] > scores[static_cast<size_t>(top)])) {
        top = static_cast<int64_t>(i);
      }
    }
    taken[static_cast<size_t>(top)] = true;
  }
  std::vector<float> row;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (taken[i]) row.push_back(static_cast<float>(numbers[i]));
  }
  row.resize(count, -1.0f);
  return row;
}

double score(const TwoSteps& f, uint32_t own, uint32_t row, Seed query_seed, Seed weights_seed) {
  const uint32_t position = row * f.stride + f.stride - 1;
  const auto query = small_values(own, 1, uint64_t{f.heads} * f.key_dim, query_seed);
  const auto weights = small_values(own, 1, f.heads, weights_seed);
  const auto key = small_values(position, 1, f.key_dim, kKeys);
  double sum = 0;
  for (uint32_t h = 0; h < f.heads; ++h) {
    double product = 0;
    for (uint32_t d = 0; d < f.key_dim; ++d) {
      product += double{query[uint64_t{h} * f.key_dim + d]} * double{key[d]};
    }
    sum += double{weights[h]} * std::max(product, 0.0);
  }
  return sum;
}

struct Chosen {
  std::vector<float> candidates, rows;
  void add(const std::vector<float>& more_candidates, const std::vector<float>& more_rows) {
    candidates.insert(candidates.end(), more_candidates.begin(), more_candidates.end());
    rows.insert(rows.end(), more_rows.begin(), more_rows.end());
  }
  bool operator==(const Chosen&) const = default;
};

Chosen expected_of(const TwoSteps& f, uint32_t length) {
  Chosen all;
  for (uint32_t own = 0; own < length; ++own) {
    const uint32_t seen = (own + 1) / f.stride;
    std::vector<double> blocks((seen + f.block - 1) / f.block,
                               -std::numeric_limits<double>::infinity());
    for (uint32_t row = 0; row < seen; ++row) {
      double& highest = blocks[row / f.block];
      highest = std::max(highest, score(f, own, row, kQuery, kWeights));
    }
    if (!blocks.empty()) blocks.back() = std::numeric_limits<double>::infinity();
    std::vector<uint32_t> numbers;
    for (uint32_t i = 0; i < blocks.size(); ++i) numbers.push_back(i);
    const std::vector<float> candidates = best(blocks, numbers, f.blocks);
    std::vector<double> scores;
    std::vector<uint32_t> rows;
    for (const float block : candidates) {
      for (uint32_t i = 0; block >= 0 && i < f.block; ++i) {
        const uint32_t row = static_cast<uint32_t>(block) * f.block + i;
        if (row >= seen) continue;
        rows.push_back(row);
        scores.push_back(score(f, own, row, kOtherQuery, kOtherWeights));
      }
    }
    all.add(candidates, best(scores, rows, f.count));
  }
  return all;
}

/// Runs in slices, beside a sequence at its beginning.
Chosen run_in_slices(const TwoSteps& f, uint32_t length, const std::vector<uint32_t>& slices,
                     uint32_t threads) {
  const Program program = two_step_program(f, length + 8);
  RunnerOptions options{.host = {}, .max_positions = length + 256};
  options.host.threads = threads;
  Runner runner(target(), program, options);
  Chosen all;
  const std::vector<int32_t> text = mixed_tokens(length);
  uint32_t first = 0;
  for (size_t s = 0; first < length; ++s) {
    const uint32_t count = std::min(slices[std::min(s, slices.size() - 1)], length - first);
    const auto begin = text.begin() + first;
    StepPlan plan;
    plan.parts.push_back({0, {begin, begin + count}});
    for (const auto& [seed, columns] :
         {std::pair<Seed, uint64_t>{kQuery, uint64_t{f.heads} * f.key_dim},
          {kWeights, f.heads},
          {kKeys, f.key_dim},
          {kOtherQuery, uint64_t{f.heads} * f.key_dim},
          {kOtherWeights, f.heads}}) {
      plan.inputs.push_back(small_values(first, count, columns, seed));
    }
    const std::vector<float> both = runner.run(plan);
    const auto middle = both.begin() + static_cast<ptrdiff_t>(uint64_t{count} * f.blocks);
    const auto end = middle + static_cast<ptrdiff_t>(uint64_t{count} * f.count);
    all.add({both.begin(), middle}, {middle, end});
    first += count;
  }
  return all;
}

class SelectWithin : public testing::TestWithParam<TwoSteps> {};

TEST_P(SelectWithin, ChoosesWhatTheLoopsDoHoweverATextIsCut) {
  const TwoSteps& f = GetParam();
  const uint32_t length = f.blocks * f.block * f.stride > 300 ? 900 : 90;
  const Chosen expected = expected_of(f, length);
  EXPECT_EQ(run_in_slices(f, length, {length}, 1), expected);
  EXPECT_EQ(run_in_slices(f, length, {1, 14, 2, 1, 33}, 5), expected);
  EXPECT_EQ(run_in_slices(f, length, {1}, 2), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Of, SelectWithin,
    testing::Values(TwoSteps{}, TwoSteps{.blocks = 1, .block = 1, .count = 1},
                    TwoSteps{.stride = 2}, TwoSteps{.stride = 2, .block = 8, .count = 3},
                    TwoSteps{.stride = 3, .blocks = 2, .block = 5, .count = 40},
                    TwoSteps{.blocks = 100, .count = 7}, TwoSteps{.block = 100},
                    TwoSteps{.key_dim = 32, .type = TENON_TYPE_F16, .block_tokens = 32},
                    TwoSteps{.blocks = 30, .block = 12, .count = 20, .block_tokens = 32}));

}  // namespace
}  // namespace tenon::conformance
