// Positions of the blocks whose pooled keys an index scores highest, and attention to them alone,
// against double loops that know nothing of cache blocks and spans. What is scored are small whole
// numbers, whose sums are exact in any order: the choice must be the oracle's, ties included.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "program/cache_types.h"
#include "tests/conformance/program_runner.h"
#include "tests/conformance/tolerances.h"

namespace tenon::conformance {
namespace {

constexpr uint32_t kPooledHeads = 4;
constexpr uint32_t kPooledKvHeads = 2;
constexpr uint32_t kPooledKeyDim = 40;
constexpr uint32_t kPooledValueDim = 24;

struct PooledIndex {
  uint32_t heads = 3;
  uint32_t key_dim = 24;
  uint32_t count = 4;
  uint32_t block = 5;
  uint32_t type = TENON_TYPE_F32;
  uint32_t block_tokens = 16;
  [[nodiscard]] uint32_t width() const { return (count + 1) * block - 1; }
};

void PrintTo(const PooledIndex& f, std::ostream* out) {
  *out << f.count << " blocks of " << f.block << " by " << f.heads << " heads of " << f.key_dim
       << " " << find_cache_type(f.type)->name << ", cache blocks of " << f.block_tokens;
}

/// Values -2 .. 2, which repeat every 13 rows: scores are equal often.
std::vector<float> small_values(uint32_t rows, uint32_t columns, uint32_t seed) {
  std::vector<float> made(uint64_t{rows} * columns);
  for (float& value : made) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<float>((seed >> 16) % 5) - 2;
  }
  for (uint64_t i = uint64_t{13} * columns; i < made.size(); ++i) {
    if (i / columns % 3 != 0) made[i] = made[i - uint64_t{13} * columns];
  }
  return made;
}

/// Results: what is chosen, then the attention.
Program pooled_program(const PooledIndex& f, uint32_t max_tokens, bool selects = true) {
  ProgramBuilder b;
  const auto table = [&](const char* name, uint64_t columns) {
    return b.embed(b.weight(name, Format::F32, kVocab, columns));
  };
  const uint32_t index =
      b.cache_group({2, 1, f.key_dim, f.key_dim, f.type, f.block_tokens, 0, TENON_CACHE_LATENT});
  const uint32_t rows =
      b.cache_group({2, kPooledKvHeads, kPooledKeyDim, kPooledValueDim, f.type, f.block_tokens});
  const Slot query = b.input("query", TENON_ROWS_TOKENS, uint64_t{f.heads} * f.key_dim);
  b.kv_write(b.input("key", TENON_ROWS_TOKENS, f.key_dim), kNoSlot, index, 1);
  b.kv_write(table("table_k", uint64_t{kPooledKvHeads} * kPooledKeyDim),
             table("table_v", uint64_t{kPooledKvHeads} * kPooledValueDim), rows, 1);
  AttentionOptions options;
  const Slot chosen = b.select_pooled(query, {index, 1, f.heads, f.count, f.block});
  if (selects) options.selection = chosen;
  options.group = rows;
  options.layer = 1;
  options.heads = kPooledHeads;
  options.scale = 0.25f;
  b.result(chosen);
  const Slot q = table("table_q", uint64_t{kPooledHeads} * kPooledKeyDim);
  return std::move(b).finish(b.gather_rows(b.attention(q, options)), {max_tokens, max_tokens});
}

/// Of the token at `own`: positions, ascending, then -1.
std::vector<float> pooled_choice(const PooledIndex& f, const std::vector<float>& query,
                                 const std::vector<float>& key, uint32_t own) {
  const uint32_t blocks = (own + 1) / f.block;
  std::vector<double> scores(blocks);
  for (uint32_t b = 0; b < blocks; ++b) {
    const uint64_t last = uint64_t{b + 1} * f.block - 1;
    for (uint32_t h = 0; h < f.heads; ++h) {
      double product = 0;
      for (uint32_t d = 0; d < f.key_dim; ++d) {
        product += double{query[(uint64_t{own} * f.heads + h) * f.key_dim + d]} *
                   double{key[last * f.key_dim + d]};
      }
      scores[b] += product < 0 ? 0 : product;
    }
    if (std::isnan(scores[b])) scores[b] = -std::numeric_limits<double>::infinity();
  }
  std::vector<bool> taken(blocks + 1);
  for (uint32_t n = 0; n < std::min(f.count, blocks); ++n) {
    int64_t best = -1;
    for (uint32_t b = 0; b < blocks; ++b) {
      if (!taken[b] && (best < 0 || scores[b] > scores[static_cast<size_t>(best)])) best = b;
    }
    taken[static_cast<size_t>(best)] = true;
  }
  taken[blocks] = true;  // those after the last whole block
  std::vector<float> row;
  for (uint32_t i = 0; i <= own; ++i) {
    if (taken[i / f.block]) row.push_back(static_cast<float>(i));
  }
  row.resize(f.width(), -1.0f);
  return row;
}

std::vector<float> pooled_attention(const std::vector<int32_t>& text, uint32_t own,
                                    const std::vector<float>& chosen) {
  const std::vector<float> q =
      random_values("table_q", kVocab * uint64_t{kPooledHeads} * kPooledKeyDim);
  const std::vector<float> k =
      random_values("table_k", kVocab * uint64_t{kPooledKvHeads} * kPooledKeyDim);
  const std::vector<float> v =
      random_values("table_v", kVocab * uint64_t{kPooledKvHeads} * kPooledValueDim);
  std::vector<float> out;
  for (uint32_t h = 0; h < kPooledHeads; ++h) {
    const uint64_t kv = h / (kPooledHeads / kPooledKvHeads);
    double sum = 0;
    std::vector<double> result(kPooledValueDim);
    for (const float position : chosen) {
      if (position < 0) break;
      const auto row =
          static_cast<uint64_t>(text[static_cast<size_t>(position)]) * kPooledKvHeads + kv;
      double score = 0;
      for (uint32_t d = 0; d < kPooledKeyDim; ++d) {
        const uint64_t at =
            (static_cast<uint64_t>(text[own]) * kPooledHeads + h) * kPooledKeyDim + d;
        score += double{q[at]} * double{k[row * kPooledKeyDim + d]};
      }
      const double weight = std::exp(0.25 * score);
      sum += weight;
      for (uint32_t d = 0; d < kPooledValueDim; ++d) {
        result[d] += weight * double{v[row * kPooledValueDim + d]};
      }
    }
    for (const double value : result) out.push_back(static_cast<float>(value / sum));
  }
  return out;
}

struct PooledResults {
  std::vector<float> chosen, attended;
};

/// A text in slices of `slice` tokens.
PooledResults run_pooled(Runner& runner, const PooledIndex& f, const std::vector<int32_t>& text,
                         const std::vector<float>& query, const std::vector<float>& key,
                         uint32_t slice) {
  PooledResults all;
  const auto length = static_cast<uint32_t>(text.size());
  for (uint32_t first = 0; first < length; first += slice) {
    const uint32_t count = std::min(slice, length - first);
    const auto cut = [&](const std::vector<float>& from, uint64_t columns) {
      const auto begin = from.begin() + static_cast<ptrdiff_t>(first * columns);
      return std::vector<float>(begin, begin + static_cast<ptrdiff_t>(count * columns));
    };
    StepPlan plan;
    plan.parts = {{0, {text.begin() + first, text.begin() + first + count}}};
    plan.inputs = {cut(query, uint64_t{f.heads} * f.key_dim), cut(key, f.key_dim)};
    const std::vector<float> both = runner.run(plan);
    const auto middle = both.begin() + static_cast<ptrdiff_t>(uint64_t{count} * f.width());
    all.chosen.insert(all.chosen.end(), both.begin(), middle);
    all.attended.insert(all.attended.end(), middle, both.end());
  }
  return all;
}

void check_pooled(const PooledIndex& f, uint32_t length, const std::vector<float>& query,
                  const std::vector<float>& key) {
  SCOPED_TRACE(testing::PrintToString(f));
  const std::vector<int32_t> text = mixed_tokens(length);
  const Program program = pooled_program(f, length);
  const RunnerOptions room{.host = {.threads = 3}, .max_positions = length + 64};
  Runner runner(target(), program, room);
  const PooledResults whole = run_pooled(runner, f, text, query, key, length);
  PooledResults expected;
  for (uint32_t own = 0; own < length; ++own) {
    const std::vector<float> row = pooled_choice(f, query, key, own);
    expected.chosen.insert(expected.chosen.end(), row.begin(), row.end());
    const std::vector<float> attended = pooled_attention(text, own, row);
    expected.attended.insert(expected.attended.end(), attended.begin(), attended.end());
  }
  EXPECT_EQ(whole.chosen, expected.chosen);
  if (f.type == TENON_TYPE_F32) {
    Deviation deviation;
    deviation.add(whole.attended, expected.attended);
    EXPECT_LE(deviation.relative_rmse(), float_tolerance());
  }
  for (const uint32_t slice : {1u, 7u}) {
    Runner again(target(), program, room);
    const PooledResults cut = run_pooled(again, f, text, query, key, slice);
    EXPECT_EQ(cut.chosen, whole.chosen);
    if (is_batch_invariant()) {
      EXPECT_EQ(cut.attended, whole.attended);
    }
  }
}

void check_pooled(const PooledIndex& f, uint32_t length) {
  check_pooled(f, length, small_values(length, f.heads * f.key_dim, 17),
               small_values(length, f.key_dim, 29));
}

TEST(SelectPooled, ShapesOfIndices) {
  for (const uint32_t heads : {1, 2, 20}) {
    for (const uint32_t key_dim : {1, 17, 128}) {
      check_pooled({.heads = heads, .key_dim = key_dim}, 60);
    }
  }
}

TEST(SelectPooled, NumbersAndSizesOfBlocks) {
  for (const uint32_t count : {1, 2, 11, 12, 13, 500}) {
    for (const uint32_t block : {1, 2, 7, 16, 64}) {
      check_pooled({.count = count, .block = block}, 83);
    }
  }
}

TEST(SelectPooled, LongPasts) {
  for (const uint32_t count : {3, 40, 256}) {
    check_pooled({.heads = 2, .key_dim = 8, .count = count, .block = 2, .block_tokens = 32}, 620);
  }
}

TEST(SelectPooled, ByHalfPrecision) { check_pooled({.type = TENON_TYPE_F16}, 200); }

TEST(SelectPooled, ScoresThatAreNoNumbersComeLast) {
  const PooledIndex f{.block = 2};
  std::vector<float> key = small_values(90, f.key_dim, 29);
  for (const uint32_t i : {1, 3, 25, 62}) {
    key[uint64_t{i} * f.key_dim + 3] = std::numeric_limits<float>::quiet_NaN();
  }
  check_pooled(f, 90, small_values(90, f.heads * f.key_dim, 17), key);
}

TEST(SelectPooled, RowsThatTheCacheRounds) {
  for (const uint32_t type : {TENON_CACHE_INT8, TENON_CACHE_Q4}) {
    const PooledIndex f{.key_dim = 32, .type = type};
    const Program program = pooled_program(f, 80);
    const std::vector<float> query = random_values("query", uint64_t{80} * f.heads * f.key_dim);
    const std::vector<float> key = random_values("key", uint64_t{80} * f.key_dim);
    Runner tested(target(), program);
    Runner expected(reference(), program, {.host = {.threads = 1}});
    const PooledResults result = run_pooled(tested, f, mixed_tokens(80), query, key, 80);
    const PooledResults known = run_pooled(expected, f, mixed_tokens(80), query, key, 80);
    EXPECT_EQ(result.chosen, known.chosen);
    Deviation deviation;
    deviation.add(result.attended, known.attended);
    EXPECT_LE(deviation.relative_rmse(), float_tolerance());
  }
}

}  // namespace
}  // namespace tenon::conformance
