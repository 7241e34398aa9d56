// Blocks of positions chosen by an index per KV head, and attention to them, against double loops
// without cache blocks and spans. Scores are small integers with exact sums, so the choice must
// equal the oracle's, ties included.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "program/cache_types.h"
#include "program/operations.h"
#include "tests/conformance/program_runner.h"
#include "tests/conformance/tolerances.h"

namespace tenon::conformance {
namespace {

constexpr uint32_t kQueryHeads = 3;  // per KV head
constexpr uint32_t kHeadKeys = 40;
constexpr uint32_t kHeadValues = 24;
constexpr float kScoreScale = 0.25f;

/// An index, and the cache type of its rows and of the attended keys and values.
struct BlockIndex {
  uint32_t heads = 2;  // also KV heads
  uint32_t key_dim = 24;
  uint32_t count = 4;
  uint32_t block = 5;
  uint32_t local = 1;
  uint32_t type = TENON_TYPE_F32;
  uint32_t block_tokens = 16;
};

void PrintTo(const BlockIndex& f, std::ostream* out) {
  *out << f.count << " blocks of " << f.block << ", " << f.local << " of them local, by " << f.heads
       << " heads of " << f.key_dim << " " << find_cache_type(f.type)->name << ", cache blocks of "
       << f.block_tokens;
}

/// Inputs of a sequence: the index's query and key per position.
struct IndexRows {
  std::vector<float> query, key;
};

/// Values -2 .. 2. Keys repeat every 13 positions, so scores often tie.
IndexRows index_rows(const BlockIndex& f, uint32_t count) {
  const auto values = [&](uint64_t n, uint32_t seed) {
    std::vector<float> made(n);
    for (float& value : made) {
      seed = seed * 1664525 + 1013904223;
      value = static_cast<float>((seed >> 16) % 5) - 2;
    }
    return made;
  };
  IndexRows rows{values(uint64_t{count} * f.heads * f.key_dim, 17),
                 values(uint64_t{count} * f.key_dim, 29)};
  for (uint64_t i = uint64_t{13} * f.key_dim; i < rows.key.size(); ++i) {
    if (i / f.key_dim % 3 != 0) rows.key[i] = rows.key[i - uint64_t{13} * f.key_dim];
  }
  return rows;
}

Slot rows_of_table(ProgramBuilder& b, const char* name, uint64_t columns) {
  return op::embed(b, b.weight(name, Format::F32, kVocab, columns));
}

/// Results: chosen blocks [T, heads * count], then the attention.
Program blocks_program(const BlockIndex& f, uint32_t max_tokens) {
  ProgramBuilder b;
  const uint32_t index =
      b.cache_group({2, 1, f.key_dim, f.key_dim, f.type, f.block_tokens, 0, TENON_CACHE_LATENT});
  const uint32_t rows = b.cache_group({2, f.heads, kHeadKeys, kHeadValues, f.type, f.block_tokens});
  const Slot query = b.input("query", TENON_ROWS_TOKENS, uint64_t{f.heads} * f.key_dim);
  const Slot key = b.input("key", TENON_ROWS_TOKENS, f.key_dim);
  op::kv_write(b, key, kNoSlot, index, 1);
  op::kv_write(b, rows_of_table(b, "table_k", uint64_t{f.heads} * kHeadKeys),
               rows_of_table(b, "table_v", uint64_t{f.heads} * kHeadValues), rows, 1);
  AttentionOptions options;
  options.selection = op::select_blocks(b, query, {index, 1, f.heads, f.count, f.block, f.local});
  options.selections = f.heads;
  options.selected_block = f.block;
  options.group = rows;
  options.layer = 1;
  options.heads = f.heads * kQueryHeads;
  options.scale = kScoreScale;
  b.result(options.selection);
  const Slot queries = rows_of_table(b, "table_q", uint64_t{options.heads} * kHeadKeys);
  return std::move(b).finish(op::gather_rows(b, op::attention(b, queries, options)),
                             {max_tokens, max_tokens});
}

// ---- The oracle ---------------------------------------------------------------------------------

/// Blocks chosen for a head of token `own`, ascending, then -1.
std::vector<float> chosen_blocks(const BlockIndex& f, const IndexRows& rows, uint32_t own,
                                 uint32_t head) {
  const uint32_t last = own / f.block;
  std::vector<double> scores(last + 1, -std::numeric_limits<double>::infinity());
  for (uint32_t i = 0; i <= own; ++i) {
    double product = 0;
    for (uint32_t d = 0; d < f.key_dim; ++d) {
      product += double{rows.query[(uint64_t{own} * f.heads + head) * f.key_dim + d]} *
                 double{rows.key[uint64_t{i} * f.key_dim + d]};
    }
    if (product > scores[i / f.block]) scores[i / f.block] = product;
  }
  for (uint32_t b = 0; b <= last; ++b) {
    if (last - b < f.local) scores[b] = std::numeric_limits<double>::infinity();
  }
  std::vector<bool> taken(last + 1);
  for (uint32_t n = 0; n < std::min(f.count, last + 1); ++n) {
    int64_t best = -1;
    for (uint32_t b = 0; b <= last; ++b) {
      if (!taken[b] && (best < 0 || scores[b] > scores[static_cast<size_t>(best)])) best = b;
    }
    taken[static_cast<size_t>(best)] = true;
  }
  std::vector<float> row;
  for (uint32_t b = 0; b <= last; ++b) {
    if (taken[b]) row.push_back(static_cast<float>(b));
  }
  row.resize(f.count, -1.0f);
  return row;
}

/// Attention of the query heads of one KV head.
std::vector<float> attend_blocks(const BlockIndex& f, const std::vector<int32_t>& text,
                                 uint32_t own, uint32_t head, const std::vector<float>& chosen) {
  const uint32_t heads = f.heads * kQueryHeads;
  const std::vector<float> q = random_values("table_q", kVocab * uint64_t{heads} * kHeadKeys);
  const std::vector<float> k = random_values("table_k", kVocab * uint64_t{f.heads} * kHeadKeys);
  const std::vector<float> v = random_values("table_v", kVocab * uint64_t{f.heads} * kHeadValues);
  const auto row = [&](uint32_t i) { return static_cast<uint64_t>(text[i]); };
  std::vector<float> out;
  for (uint32_t h = head * kQueryHeads; h < (head + 1) * kQueryHeads; ++h) {
    double sum = 0;
    std::vector<double> result(kHeadValues);
    for (uint32_t i = 0; i <= own; ++i) {
      const auto number = static_cast<float>(i / f.block);
      if (std::find(chosen.begin(), chosen.end(), number) == chosen.end()) continue;
      double score = 0;
      for (uint32_t d = 0; d < kHeadKeys; ++d) {
        score += double{q[(row(own) * heads + h) * kHeadKeys + d]} *
                 double{k[(row(i) * f.heads + head) * kHeadKeys + d]};
      }
      const double weight = std::exp(kScoreScale * score);
      sum += weight;
      for (uint32_t d = 0; d < kHeadValues; ++d) {
        result[d] += weight * double{v[(row(i) * f.heads + head) * kHeadValues + d]};
      }
    }
    for (const double value : result) out.push_back(static_cast<float>(value / sum));
  }
  return out;
}

// ---- Comparison with the oracle -----------------------------------------------------------------

/// Choices and attention of all tokens of a text, in slices of these sizes, repeating the last
/// size.
struct BlockResults {
  std::vector<float> chosen, attended;
};

BlockResults run_blocks(Runner& runner, const BlockIndex& f, const IndexRows& rows,
                        const std::vector<int32_t>& text, const std::vector<uint32_t>& slices) {
  BlockResults all;
  const auto length = static_cast<uint32_t>(text.size());
  for (uint32_t first = 0, s = 0; first < length; ++s) {
    const uint32_t count = std::min(slices[std::min<size_t>(s, slices.size() - 1)], length - first);
    const auto part = [&](const std::vector<float>& from, uint64_t columns) {
      const auto begin = from.begin() + static_cast<ptrdiff_t>(first * columns);
      return std::vector<float>(begin, begin + static_cast<ptrdiff_t>(count * columns));
    };
    StepPlan plan;
    plan.parts = {{0, {text.begin() + first, text.begin() + first + count}}};
    plan.inputs = {part(rows.query, uint64_t{f.heads} * f.key_dim), part(rows.key, f.key_dim)};
    const std::vector<float> both = runner.run(plan);
    const auto middle = both.begin() + static_cast<ptrdiff_t>(uint64_t{count} * f.heads * f.count);
    all.chosen.insert(all.chosen.end(), both.begin(), middle);
    all.attended.insert(all.attended.end(), middle, both.end());
    first += count;
  }
  return all;
}

void check_blocks(const BlockIndex& f, uint32_t length) {
  SCOPED_TRACE(testing::PrintToString(f));
  const IndexRows rows = index_rows(f, length);
  const std::vector<int32_t> text = mixed_tokens(length);
  const Program program = blocks_program(f, length);
  const RunnerOptions room{.host = {}, .max_positions = length + 64};
  Runner runner(target(), program, room);
  const BlockResults result = run_blocks(runner, f, rows, text, {length});
  BlockResults expected;
  for (uint32_t own = 0; own < length; ++own) {
    for (uint32_t head = 0; head < f.heads; ++head) {
      const std::vector<float> row = chosen_blocks(f, rows, own, head);
      expected.chosen.insert(expected.chosen.end(), row.begin(), row.end());
      const std::vector<float> values = attend_blocks(f, text, own, head, row);
      expected.attended.insert(expected.attended.end(), values.begin(), values.end());
    }
  }
  EXPECT_EQ(result.chosen, expected.chosen);
  if (f.type == TENON_TYPE_F32) {
    Deviation deviation;
    deviation.add(result.attended, expected.attended);
    EXPECT_LE(deviation.relative_rmse(), float_tolerance());
  }
  for (const std::vector<uint32_t>& slices : {std::vector<uint32_t>{1, 14, 2, 1, 33}, {7}}) {
    RunnerOptions threads = room;
    threads.host.threads = 3;
    Runner sliced(target(), program, threads);
    const BlockResults cut = run_blocks(sliced, f, rows, text, slices);
    EXPECT_EQ(cut.chosen, result.chosen);
    if (is_batch_invariant()) {
      EXPECT_EQ(cut.attended, result.attended);
    }
  }
}

TEST(SelectBlocks, ShapesOfIndices) {
  for (const uint32_t heads : {1, 2, 5}) {
    for (const uint32_t key_dim : {1, 17, 128}) {
      check_blocks({.heads = heads, .key_dim = key_dim}, 60);
    }
  }
}

TEST(SelectBlocks, SizesAndNumbersOfBlocks) {
  for (const uint32_t block : {1, 3, 16, 32, 200}) {
    for (const uint32_t count : {1, 2, 9}) check_blocks({.count = count, .block = block}, 90);
  }
}

TEST(SelectBlocks, LocalBlocksAreChosenWhateverTheyScore) {
  for (const uint32_t local : {0, 1, 3, 4}) check_blocks({.local = local}, 70);
}

TEST(SelectBlocks, LongPasts) {
  for (const uint32_t block : {7, 64}) {
    check_blocks({.key_dim = 8, .count = 6, .block = block, .block_tokens = 32}, 530);
  }
}

TEST(SelectBlocks, ByHalfPrecision) { check_blocks({.type = TENON_TYPE_F16}, 150); }

/// Copied rows of a rounding cache, and whole blocks in place, match the reference.
TEST(SelectBlocks, ByRowsThatTheCacheRounds) {
  for (const uint32_t type : {TENON_CACHE_INT8, TENON_CACHE_Q4}) {
    for (const uint32_t block : {5, 16}) {
      const BlockIndex f{.key_dim = 32, .block = block, .type = type};
      IndexRows rows = index_rows(f, 80);
      rows.query = random_values("query", rows.query.size());
      rows.key = random_values("key", rows.key.size());
      const Program program = blocks_program(f, 80);
      Runner tested(target(), program);
      Runner known(reference(), program, {.host = {.threads = 1}});
      const BlockResults result = run_blocks(tested, f, rows, mixed_tokens(80), {80});
      const BlockResults expected = run_blocks(known, f, rows, mixed_tokens(80), {80});
      EXPECT_EQ(result.chosen, expected.chosen);
      Deviation deviation;
      deviation.add(result.attended, expected.attended);
      EXPECT_LE(deviation.relative_rmse(), float_tolerance());
    }
  }
}

TEST(SelectBlocks, ProductsThatAreNoNumbersDoNotCount) {
  const BlockIndex f{.local = 0};
  IndexRows rows = index_rows(f, 60);
  for (const uint32_t i : {0, 7, 25, 33, 34}) {
    rows.key[uint64_t{i} * f.key_dim + 3] = std::numeric_limits<float>::quiet_NaN();
  }
  const Program program = blocks_program(f, 60);
  Runner runner(target(), program);
  const BlockResults result = run_blocks(runner, f, rows, mixed_tokens(60), {60});
  std::vector<float> expected;
  for (uint32_t own = 0; own < 60; ++own) {
    for (uint32_t head = 0; head < f.heads; ++head) {
      const std::vector<float> row = chosen_blocks(f, rows, own, head);
      expected.insert(expected.end(), row.begin(), row.end());
    }
  }
  EXPECT_EQ(result.chosen, expected);
}

}  // namespace
}  // namespace tenon::conformance
