// Attention to the last positions and to pools of all positions in one softmax, against double
// loops without blocks and spans.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "program/cache_types.h"
#include "program/operations.h"
#include "tests/conformance/program_runner.h"
#include "tests/conformance/tolerances.h"

namespace tenon::conformance {
namespace {

constexpr uint32_t kPoolIndexHeads = 3;
constexpr uint32_t kPoolIndexDim = 8;
constexpr float kPoolScale = 0.25f;

/// An attention_pools, and an index if some pools are chosen.
struct PoolAttention {
  uint32_t heads = 5;
  uint32_t key_dim = 40;
  uint32_t value_dim = 40;
  uint32_t window = 9;
  uint32_t stride = 4;
  uint32_t count = 0;  // pools chosen; 0 means all
  bool sinks = true;
  bool keeps_window = true;        // the cache group keeps only the window
  uint32_t type = TENON_TYPE_F32;  // of the cache
  uint32_t block_tokens = 16;
};

void PrintTo(const PoolAttention& f, std::ostream* out) {
  *out << f.heads << " heads of " << f.key_dim << " and " << f.value_dim << " "
       << find_cache_type(f.type)->name << ", window " << f.window << ", " << f.count
       << " pools of " << f.stride << ", blocks of " << f.block_tokens;
}

Slot pool_table(ProgramBuilder& b, const char* name, uint64_t columns) {
  return op::embed(b, b.weight(name, Format::F32, kVocab, columns));
}

/// Results: chosen pools [T, count], if any, then the attention.
Program pool_attention_program(const PoolAttention& f, uint32_t max_tokens) {
  ProgramBuilder b;
  CacheGroup positions{2, 1, f.key_dim, f.value_dim, f.type, f.block_tokens, 0, TENON_CACHE_LATENT};
  CacheGroup pools = positions;
  if (f.keeps_window) positions.window = f.window;
  pools.stride = f.stride;
  PoolAttentionOptions options{.heads = f.heads, .window = f.window, .scale = kPoolScale};
  options.group = b.cache_group(positions);
  options.layer = 1;
  options.pool_group = b.cache_group(pools);
  options.pool_layer = 1;
  op::kv_write(b, pool_table(b, "table_k", f.key_dim), kNoSlot, options.group, 1);
  op::kv_write(b, pool_table(b, "table_r", f.key_dim), kNoSlot, options.pool_group, 1);
  if (f.sinks) options.sinks = b.weight("sinks", Format::F32, 1, f.heads);
  if (f.count > 0) {
    CacheGroup index{
        1, 1, kPoolIndexDim, kPoolIndexDim, TENON_TYPE_F32, f.block_tokens, 0, TENON_CACHE_LATENT};
    index.stride = f.stride;
    const uint32_t group = b.cache_group(index);
    op::kv_write(b, pool_table(b, "table_i", kPoolIndexDim), kNoSlot, group, 0);
    options.selection = op::select(
        b, pool_table(b, "table_iq", uint64_t{kPoolIndexHeads} * kPoolIndexDim),
        pool_table(b, "table_iw", kPoolIndexHeads), {group, 0, kPoolIndexHeads, f.count});
    b.result(options.selection);
  }
  const Slot q = pool_table(b, "table_q", uint64_t{f.heads} * f.key_dim);
  return std::move(b).finish(op::gather_rows(b, op::attention_pools(b, q, options)),
                             {max_tokens, max_tokens});
}

/// Rows that token `own` of a text attends to.
///   chosen  pools, then -1; empty: all
std::vector<float> attended_pools(const PoolAttention& f, const std::vector<int32_t>& text,
                                  uint32_t own, std::span<const float> chosen) {
  const std::vector<float> q = random_values("table_q", uint64_t{kVocab} * f.heads * f.key_dim);
  const std::vector<float> sinks = random_values("sinks", f.heads);
  std::vector<std::vector<double>> rows;
  const auto add_row = [&](const char* table, uint32_t position) {
    const std::vector<float> values = random_values(table, uint64_t{kVocab} * f.key_dim);
    const auto begin = values.begin() + static_cast<ptrdiff_t>(text[position]) * f.key_dim;
    rows.emplace_back(begin, begin + f.key_dim);
  };
  for (uint32_t i = 0; i <= own; ++i) {
    if (f.window == 0 || i + f.window > own) add_row("table_k", i);
  }
  for (uint32_t j = 0; j < (own + 1) / f.stride; ++j) {
    const auto number = static_cast<float>(j);
    const bool is_seen = f.count == 0 || std::ranges::find(chosen, number) != chosen.end();
    if (is_seen) add_row("table_r", (j + 1) * f.stride - 1);
  }
  std::vector<float> out;
  for (uint32_t h = 0; h < f.heads; ++h) {
    double sum = f.sinks ? std::exp(double{sinks[h]}) : 0;
    std::vector<double> result(f.value_dim);
    for (const std::vector<double>& row : rows) {
      double score = 0;
      for (uint32_t d = 0; d < f.key_dim; ++d) {
        const uint64_t first = (static_cast<uint64_t>(text[own]) * f.heads + h) * f.key_dim;
        score += double{q[first + d]} * row[d];
      }
      const double weight = std::exp(kPoolScale * score);
      sum += weight;
      for (uint32_t d = 0; d < f.value_dim; ++d) result[d] += weight * row[d];
    }
    for (const double value : result) out.push_back(static_cast<float>(value / sum));
  }
  return out;
}

/// Selections and attention of a text in slices of these sizes, repeating the last size.
struct PoolsLookedAt {
  std::vector<float> chosen, attended;
  bool operator==(const PoolsLookedAt&) const = default;
};

PoolsLookedAt look_at_pools(Runner& runner, const PoolAttention& f,
                            const std::vector<int32_t>& text, uint32_t first,
                            const std::vector<uint32_t>& slices) {
  PoolsLookedAt all;
  const auto length = static_cast<uint32_t>(text.size());
  for (uint32_t s = 0; first < length; ++s) {
    const uint32_t count = std::min(slices[std::min<size_t>(s, slices.size() - 1)], length - first);
    StepPlan plan;
    plan.parts = {{0, {text.begin() + first, text.begin() + first + count}}};
    const std::vector<float> results = runner.run(plan);
    const auto chosen = results.begin() + static_cast<ptrdiff_t>(uint64_t{count} * f.count);
    all.chosen.insert(all.chosen.end(), results.begin(), chosen);
    all.attended.insert(all.attended.end(), chosen, results.end());
    first += count;
  }
  return all;
}

void check_pool_attention(const PoolAttention& f, uint32_t length, bool exact = true) {
  SCOPED_TRACE(testing::PrintToString(f));
  const std::vector<int32_t> text = mixed_tokens(length);
  const Program program = pool_attention_program(f, length);
  const RunnerOptions room{.host = {}, .max_positions = length + 64};
  Runner runner(target(), program, room);
  const PoolsLookedAt result = look_at_pools(runner, f, text, 0, {length});
  std::vector<float> expected;
  for (uint32_t own = 0; own < length; ++own) {
    const auto chosen = std::span(result.chosen).subspan(uint64_t{own} * f.count, f.count);
    const std::vector<float> values = attended_pools(f, text, own, chosen);
    expected.insert(expected.end(), values.begin(), values.end());
  }
  Deviation deviation;
  deviation.add(result.attended, expected);
  EXPECT_LE(deviation.relative_rmse(), exact ? float_tolerance() : 0.2);
  for (const std::vector<uint32_t>& slices : {std::vector<uint32_t>{1, 14, 2, 1, 33}, {7}, {1}}) {
    RunnerOptions threads = room;
    threads.host.threads = 3;
    Runner sliced(target(), program, threads);
    const PoolsLookedAt cut = look_at_pools(sliced, f, text, 0, slices);
    if (is_batch_invariant()) {
      EXPECT_EQ(cut, result);
    }
  }
}

TEST(AttentionPools, SizesOfWindowsAndPools) {
  for (const uint32_t window : {0, 1, 9, 40}) {
    for (const uint32_t stride : {1, 4, 5, 48}) {
      check_pool_attention({.window = window, .stride = stride, .keeps_window = window > 0}, 100);
    }
  }
}

TEST(AttentionPools, ShapesOfHeads) {
  for (const uint32_t heads : {1, 16, 17, 40}) check_pool_attention({.heads = heads}, 60);
  check_pool_attention({.key_dim = 33, .value_dim = 17}, 60);
  check_pool_attention({.sinks = false, .keeps_window = false}, 60);
}

TEST(AttentionPools, ThoseThatAnIndexChose) {
  for (const uint32_t count : {1, 3, 50}) {
    check_pool_attention({.count = count}, 100);
    check_pool_attention({.stride = 1, .count = count}, 60);
  }
}

/// More rows than some backends' kernels process at once.
TEST(AttentionPools, LongPasts) {
  check_pool_attention({.heads = 2, .key_dim = 8, .value_dim = 8, .stride = 2, .block_tokens = 32},
                       700);
  check_pool_attention({.heads = 2,
                        .key_dim = 8,
                        .value_dim = 8,
                        .window = 300,
                        .stride = 2,
                        .count = 300,
                        .block_tokens = 32},
                       700);
}

TEST(AttentionPools, RowsThatTheCacheRounds) {
  for (const uint32_t type : {TENON_TYPE_F16, TENON_CACHE_INT8, TENON_CACHE_Q4}) {
    check_pool_attention({.key_dim = 64, .value_dim = 64, .type = type}, 90, false);
  }
}

/// Equals the reference, whose cache rounds alike.
TEST(AttentionPools, RoundAsTheReference) {
  for (const uint32_t type : {TENON_TYPE_F16, TENON_CACHE_INT8, TENON_CACHE_Q4}) {
    const PoolAttention f{.key_dim = 64, .value_dim = 64, .type = type};
    SCOPED_TRACE(testing::PrintToString(f));
    std::vector<StepPlan> steps(2);
    steps[0].parts = {{0, mixed_tokens(40)}, {1, mixed_tokens(3, 2)}};
    steps[1].parts = {{1, mixed_tokens(21, 3)}, {0, mixed_tokens(1, 4)}};
    expect_like_reference(pool_attention_program(f, 64), steps, float_tolerance());
  }
}

/// After any rewind, attention sees the current text.
TEST(AttentionPools, ARewoundTextIsTheOneThatIsLeft) {
  const PoolAttention f{.stride = 5, .count = 4, .keeps_window = false};
  const Program program = pool_attention_program(f, 64);
  for (const uint32_t kept : {0u, 20u, 22u, 39u}) {
    SCOPED_TRACE(kept);
    std::vector<int32_t> text = mixed_tokens(60);
    Runner runner(target(), program);
    (void)look_at_pools(runner, f, text, 0, {60});
    runner.rewind(0, kept);
    const std::vector<int32_t> other = mixed_tokens(60, 9);
    std::copy(other.begin() + kept, other.end(), text.begin() + kept);
    const PoolsLookedAt result = look_at_pools(runner, f, text, kept, {60});
    Runner whole(target(), program);
    const PoolsLookedAt known = look_at_pools(whole, f, text, 0, {60});
    const std::vector<float> rest(
        known.attended.end() - static_cast<ptrdiff_t>(result.attended.size()),
        known.attended.end());
    EXPECT_EQ(result.attended, rest);
  }
}

}  // namespace
}  // namespace tenon::conformance
