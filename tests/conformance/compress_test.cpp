// Rows pooled from several positions, kept in a group with a stride, chosen by an index and
// attended to with the positions after them, against double loops over whole texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "program/cache_types.h"
#include "program/operations.h"
#include "tests/conformance/program_runner.h"
#include "tests/conformance/tolerances.h"

namespace tenon::conformance {
namespace {

constexpr uint32_t kLatentDim = 40;
constexpr uint32_t kLatentValue = 24;
constexpr uint32_t kLatentHeads = 20;  // more than one work item of some backends
constexpr float kLatentScale = 0.25f;

/// Pools of positions and the index that chooses among their rows.
struct Pools {
  uint32_t stride = 4;
  uint32_t columns = 24;  // per row
  uint32_t count = 3;     // rows chosen
  uint32_t heads = 5;
  uint32_t type = TENON_TYPE_F32;  // of the rows
  uint32_t block_tokens = 16;
  bool overlap = false;  // with the previous pool

  /// Columns stored per position.
  [[nodiscard]] uint32_t raw_columns() const { return overlap ? 2 * columns : columns; }
};

void PrintTo(const Pools& f, std::ostream* out) {
  *out << f.count << " rows of " << f.columns << " " << find_cache_type(f.type)->name << " for "
       << f.stride << " positions, by " << f.heads << " heads, cache blocks of " << f.block_tokens
       << (f.overlap ? ", overlapping" : "");
}

/// Values of a text's tokens.
struct PoolRows {
  std::vector<float> value, gate, query, weights;
};

PoolRows pool_rows(const Pools& f, uint32_t count, const std::string& seed = "") {
  return {random_values("value" + seed, uint64_t{count} * f.raw_columns()),
          random_values("gate" + seed, uint64_t{count} * f.raw_columns()),
          random_values("query" + seed, uint64_t{count} * f.heads * f.columns),
          random_values("weights" + seed, uint64_t{count} * f.heads)};
}

std::vector<float> token_rows(const std::vector<float>& from, uint64_t columns, uint32_t first,
                              uint32_t count) {
  const auto begin = from.begin() + static_cast<ptrdiff_t>(first * columns);
  return {begin, begin + static_cast<ptrdiff_t>(count * columns)};
}

/// Results: pooled rows [T, columns], chosen rows [T, count], then the attention.
Program pools_program(const Pools& f, uint32_t max_tokens) {
  ProgramBuilder b;
  CacheGroup raw{2, 1, f.raw_columns(), f.raw_columns(), TENON_TYPE_F32, f.block_tokens};
  raw.window = f.overlap ? 2 * f.stride : f.stride;
  raw.stride = f.overlap ? 0 : f.stride;
  CacheGroup rows{2, 1, f.columns, f.columns, f.type, f.block_tokens, 0, TENON_CACHE_LATENT};
  rows.stride = f.stride;
  const uint32_t raw_group = b.cache_group(raw);
  const uint32_t row_group = b.cache_group(rows);
  const uint32_t latent = b.cache_group(
      {1, 1, kLatentDim, kLatentValue, TENON_TYPE_F32, f.block_tokens, 0, TENON_CACHE_LATENT});
  const Slot value = b.input("value", TENON_ROWS_TOKENS, f.raw_columns());
  const Slot gate = b.input("gate", TENON_ROWS_TOKENS, f.raw_columns());
  const Slot query = b.input("query", TENON_ROWS_TOKENS, uint64_t{f.heads} * f.columns);
  const Slot weights = b.input("weights", TENON_ROWS_TOKENS, f.heads);
  op::kv_write(b, value, gate, raw_group, 1);
  const Slot row =
      op::compress(b, b.weight("table_bias", Format::F32, f.stride, f.raw_columns()),
                   {.group = raw_group, .layer = 1, .stride = f.stride, .overlap = f.overlap});
  op::kv_write(b, row, kNoSlot, row_group, 1);
  AttentionOptions options;
  options.selection = op::select(b, query, weights, {row_group, 1, f.heads, f.count});
  options.selected_block = f.stride;
  options.selected_rest = f.stride > 1;
  options.group = latent;
  options.heads = kLatentHeads;
  options.scale = kLatentScale;
  op::kv_write(b, op::embed(b, b.weight("table_k", Format::F32, kVocab, kLatentDim)), kNoSlot,
               latent, 0);
  b.result(row);
  b.result(options.selection);
  const Slot q =
      op::embed(b, b.weight("table_q", Format::F32, kVocab, uint64_t{kLatentHeads} * kLatentDim));
  return std::move(b).finish(op::gather_rows(b, op::attention(b, q, options)),
                             {max_tokens, max_tokens});
}

// ---- The oracle ---------------------------------------------------------------------------------

/// The row that ends at token `own`, or zeros.
std::vector<double> pooled_row(const Pools& f, const PoolRows& rows, uint32_t own) {
  std::vector<double> row(f.columns);
  if ((own + 1) % f.stride != 0) return row;
  const std::vector<float> bias = random_values("table_bias", uint64_t{f.stride} * f.raw_columns());
  const uint32_t pool = own + 1 - f.stride;
  for (uint32_t c = 0; c < f.columns; ++c) {
    double sum = 0;
    const auto add_pool = [&](uint32_t first, uint32_t column) {
      for (uint32_t i = first; i < first + f.stride; ++i) {
        const double gate = double{rows.gate[uint64_t{i} * f.raw_columns() + column]} +
                            double{bias[uint64_t{i % f.stride} * f.raw_columns() + column]};
        sum += std::exp(gate);
        row[c] += std::exp(gate) * double{rows.value[uint64_t{i} * f.raw_columns() + column]};
      }
    };
    if (f.overlap && pool > 0) add_pool(pool - f.stride, c);
    add_pool(pool, f.overlap ? f.columns + c : c);
    row[c] /= sum;
  }
  return row;
}

/// Row numbers, ascending, then -1.
std::vector<float> chosen_rows(const Pools& f, const PoolRows& rows, uint32_t own) {
  std::vector<std::pair<double, uint32_t>> scored;
  for (uint32_t j = 0; j < (own + 1) / f.stride; ++j) {
    const std::vector<double> key = pooled_row(f, rows, (j + 1) * f.stride - 1);
    double score = 0;
    for (uint32_t h = 0; h < f.heads; ++h) {
      double product = 0;
      for (uint32_t c = 0; c < f.columns; ++c) {
        product += double{rows.query[(uint64_t{own} * f.heads + h) * f.columns + c]} * key[c];
      }
      score += double{rows.weights[uint64_t{own} * f.heads + h]} * std::max(product, 0.0);
    }
    scored.emplace_back(-score, j);
  }
  std::sort(scored.begin(), scored.end());
  scored.resize(std::min<size_t>(scored.size(), f.count));
  std::vector<float> chosen;
  for (const auto& [score, number] : scored) chosen.push_back(static_cast<float>(number));
  std::sort(chosen.begin(), chosen.end());
  chosen.resize(f.count, -1.0f);
  return chosen;
}

std::vector<float> attend_pools(const Pools& f, const std::vector<int32_t>& text, uint32_t own,
                                const std::vector<float>& chosen) {
  const std::vector<float> q =
      random_values("table_q", kVocab * uint64_t{kLatentHeads} * kLatentDim);
  const std::vector<float> k = random_values("table_k", kVocab * uint64_t{kLatentDim});
  std::vector<float> out;
  for (uint32_t h = 0; h < kLatentHeads; ++h) {
    double sum = 0;
    std::vector<double> result(kLatentValue);
    for (uint32_t i = 0; i <= own; ++i) {
      const bool rest = i >= own + 1 - (own + 1) % f.stride;
      const auto number = static_cast<float>(i / f.stride);
      if (!rest && std::find(chosen.begin(), chosen.end(), number) == chosen.end()) continue;
      const auto key = static_cast<uint64_t>(text[i]) * kLatentDim;
      double score = 0;
      for (uint32_t d = 0; d < kLatentDim; ++d) {
        score += double{q[(static_cast<uint64_t>(text[own]) * kLatentHeads + h) * kLatentDim + d]} *
                 double{k[key + d]};
      }
      const double weight = std::exp(kLatentScale * score);
      sum += weight;
      for (uint32_t d = 0; d < kLatentValue; ++d) result[d] += weight * double{k[key + d]};
    }
    for (const double value : result) out.push_back(static_cast<float>(value / sum));
  }
  return out;
}

// ---- Comparison with the oracle -----------------------------------------------------------------

struct PoolResults {
  std::vector<float> rows, chosen, attended;
  bool operator==(const PoolResults&) const = default;
};

/// Runs tokens [first, end) of a text in slices of these sizes, repeating the last size.
void run_pools(Runner& runner, const Pools& f, const PoolRows& rows,
               const std::vector<int32_t>& text, uint32_t first, uint32_t end,
               const std::vector<uint32_t>& slices, PoolResults& all) {
  for (uint32_t s = 0; first < end; ++s) {
    const uint32_t count = std::min(slices[std::min<size_t>(s, slices.size() - 1)], end - first);
    StepPlan plan;
    plan.parts = {{0, {text.begin() + first, text.begin() + first + count}}};
    plan.inputs = {token_rows(rows.value, f.raw_columns(), first, count),
                   token_rows(rows.gate, f.raw_columns(), first, count),
                   token_rows(rows.query, uint64_t{f.heads} * f.columns, first, count),
                   token_rows(rows.weights, f.heads, first, count)};
    const std::vector<float> results = runner.run(plan);
    const auto part = [&](std::vector<float>& to, uint64_t from, uint64_t columns) {
      const auto begin = results.begin() + static_cast<ptrdiff_t>(from);
      to.insert(to.end(), begin, begin + static_cast<ptrdiff_t>(count * columns));
      return from + count * columns;
    };
    uint64_t at = part(all.rows, 0, f.columns);
    at = part(all.chosen, at, f.count);
    part(all.attended, at, uint64_t{kLatentHeads} * kLatentValue);
    first += count;
  }
}

void check_pools(const Pools& f, uint32_t length, bool exact = true) {
  SCOPED_TRACE(testing::PrintToString(f));
  const PoolRows rows = pool_rows(f, length);
  const std::vector<int32_t> text = mixed_tokens(length);
  const Program program = pools_program(f, length);
  const RunnerOptions room{.host = {}, .max_positions = length + 64};
  Runner runner(target(), program, room);
  PoolResults result;
  run_pools(runner, f, rows, text, 0, length, {length}, result);
  PoolResults expected;
  for (uint32_t own = 0; own < length; ++own) {
    for (const double value : pooled_row(f, rows, own)) {
      expected.rows.push_back(static_cast<float>(value));
    }
    const std::vector<float> chosen = chosen_rows(f, rows, own);
    expected.chosen.insert(expected.chosen.end(), chosen.begin(), chosen.end());
    const std::vector<float> values = attend_pools(f, text, own, chosen);
    expected.attended.insert(expected.attended.end(), values.begin(), values.end());
  }
  Deviation made;
  made.add(result.rows, expected.rows);
  EXPECT_LE(made.relative_rmse(), float_tolerance());
  if (exact) {
    EXPECT_EQ(result.chosen, expected.chosen);
    Deviation attended;
    attended.add(result.attended, expected.attended);
    EXPECT_LE(attended.relative_rmse(), float_tolerance());
  }
  for (const std::vector<uint32_t>& slices : {std::vector<uint32_t>{1, 14, 2, 1, 33}, {7}, {1}}) {
    RunnerOptions threads = room;
    threads.host.threads = 3;
    Runner sliced(target(), program, threads);
    PoolResults cut;
    run_pools(sliced, f, rows, text, 0, length, slices, cut);
    if (is_batch_invariant()) {
      EXPECT_EQ(cut, result);
    } else {
      EXPECT_EQ(cut.chosen, result.chosen);
    }
  }
}

TEST(Compress, SizesOfPools) {
  for (const uint32_t stride : {1, 2, 5, 16, 32, 48}) {
    check_pools({.stride = stride}, 110);
  }
}

TEST(Compress, PoolsThatOverlap) {
  for (const uint32_t stride : {1, 2, 5, 16, 32}) {
    check_pools({.stride = stride, .overlap = true}, 110);
  }
  for (const uint32_t columns : {1, 17, 64}) {
    check_pools({.columns = columns, .heads = 3, .block_tokens = 32, .overlap = true}, 60);
  }
}

TEST(Compress, ShapesOfRows) {
  for (const uint32_t columns : {1, 17, 64}) {
    for (const uint32_t heads : {1, 20}) check_pools({.columns = columns, .heads = heads}, 60);
  }
}

/// More rows than some backends' kernels process at once.
TEST(Compress, LongPasts) {
  check_pools({.stride = 2, .columns = 8, .count = 7, .heads = 2, .block_tokens = 32}, 700);
}

TEST(Compress, RowsThatTheCacheRounds) {
  for (const uint32_t type : {TENON_TYPE_F16, TENON_CACHE_INT8, TENON_CACHE_Q4}) {
    check_pools({.columns = 32, .type = type}, 90, false);
  }
}

/// After any rewind, pooled rows are those of the current text.
TEST(Compress, ARewoundTextHasTheRowsOfWhatIsLeft) {
  const Pools f{.stride = 5};
  const Program program = pools_program(f, 64);
  const std::vector<int32_t> first = mixed_tokens(60);
  const std::vector<int32_t> second = mixed_tokens(60, 9);
  const PoolRows first_rows = pool_rows(f, 60);
  const PoolRows second_rows = pool_rows(f, 60, "2");
  for (const uint32_t kept : {20u, 22u, 39u, 40u}) {
    SCOPED_TRACE(kept);
    Runner runner(target(), program);
    PoolResults result;
    run_pools(runner, f, first_rows, first, 0, 60, {60}, result);
    runner.rewind(0, kept);
    result = {};
    run_pools(runner, f, second_rows, second, kept, 60, {60}, result);

    const auto join = [&](const std::vector<float>& a, const std::vector<float>& b,
                          uint64_t columns) {
      std::vector<float> both = token_rows(a, columns, 0, kept);
      const std::vector<float> rest = token_rows(b, columns, kept, 60 - kept);
      both.insert(both.end(), rest.begin(), rest.end());
      return both;
    };
    const PoolRows joined{join(first_rows.value, second_rows.value, f.columns),
                          join(first_rows.gate, second_rows.gate, f.columns),
                          join(first_rows.query, second_rows.query, uint64_t{f.heads} * f.columns),
                          join(first_rows.weights, second_rows.weights, f.heads)};
    std::vector<int32_t> text(first.begin(), first.begin() + kept);
    text.insert(text.end(), second.begin() + kept, second.end());
    Runner whole(target(), program);
    PoolResults known;
    run_pools(whole, f, joined, text, 0, 60, {60}, known);
    EXPECT_EQ(result.chosen, token_rows(known.chosen, f.count, kept, 60 - kept));
    EXPECT_EQ(result.rows, token_rows(known.rows, f.columns, kept, 60 - kept));
  }
}

}  // namespace
}  // namespace tenon::conformance
