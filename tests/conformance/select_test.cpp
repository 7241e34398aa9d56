// Positions chosen by an index, and attention to them, against double loops without blocks and
// spans. Scores are small integers with exact sums, so the choice must equal the oracle's, ties
// included.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "program/cache_types.h"
#include "program/operations.h"
#include "tests/base/expect_error.h"
#include "tests/conformance/program_runner.h"
#include "tests/conformance/tolerances.h"

namespace tenon::conformance {
namespace {

constexpr uint32_t kHeads = 20;  // of the attention: more than one work item of some backends
constexpr uint32_t kKeyDim = 40;
constexpr uint32_t kValueDim = 24;
constexpr float kScale = 0.25f;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// An index, and the cache type of its rows and of the attended rows.
struct Index {
  uint32_t heads = 5;
  uint32_t key_dim = 24;
  uint32_t count = 9;
  uint32_t type = TENON_TYPE_F32;
  uint32_t block_tokens = 16;
  bool sinks = false;
};

void PrintTo(const Index& f, std::ostream* out) {
  *out << f.count << " positions by " << f.heads << " heads of " << f.key_dim << " "
       << find_cache_type(f.type)->name << ", blocks of " << f.block_tokens;
}

/// Inputs of a sequence: the index's query, weights and key per position.
struct Rows {
  std::vector<float> query, weights, key;
  [[nodiscard]] uint32_t count(const Index& f) const {
    return static_cast<uint32_t>(key.size() / f.key_dim);
  }
  /// Rows [first, first + count).
  [[nodiscard]] Rows part(const Index& f, uint32_t first, uint32_t count) const {
    const auto cut = [&](const std::vector<float>& from, uint64_t columns) {
      const auto begin = from.begin() + static_cast<ptrdiff_t>(first * columns);
      return std::vector<float>(begin, begin + static_cast<ptrdiff_t>(count * columns));
    };
    return {cut(query, uint64_t{f.heads} * f.key_dim), cut(weights, f.heads), cut(key, f.key_dim)};
  }
};

/// Values -2 .. 2. Keys repeat every 13 positions, so scores often tie.
Rows rows_of(const Index& f, uint32_t count, uint32_t seed = 0) {
  const auto values = [&](uint64_t n, uint32_t first) {
    std::vector<float> made(n);
    uint32_t state = 12345 + first + 977 * seed;
    for (float& value : made) {
      state = state * 1664525 + 1013904223;
      value = static_cast<float>((state >> 16) % 5) - 2;
    }
    return made;
  };
  Rows rows{values(uint64_t{count} * f.heads * f.key_dim, 1), values(uint64_t{count} * f.heads, 2),
            values(uint64_t{count} * f.key_dim, 3)};
  for (uint64_t i = uint64_t{13} * f.key_dim; i < rows.key.size(); ++i) {
    if (i / f.key_dim % 3 != 0) rows.key[i] = rows.key[i - uint64_t{13} * f.key_dim];
  }
  return rows;
}

Slot table(ProgramBuilder& b, const char* name, uint64_t columns) {
  return op::embed(b, b.weight(name, Format::F32, kVocab, columns));
}

/// Results: chosen positions [T, count], then the attention [T, kHeads * kValueDim].
Program program_of(const Index& f, uint32_t max_tokens) {
  ProgramBuilder b;
  const uint32_t index =
      b.cache_group({2, 1, f.key_dim, f.key_dim, f.type, f.block_tokens, 0, TENON_CACHE_LATENT});
  const uint32_t rows =
      b.cache_group({2, 1, kKeyDim, kValueDim, f.type, f.block_tokens, 0, TENON_CACHE_LATENT});
  const Slot query = b.input("query", TENON_ROWS_TOKENS, uint64_t{f.heads} * f.key_dim);
  const Slot weights = b.input("weights", TENON_ROWS_TOKENS, f.heads);
  const Slot key = b.input("key", TENON_ROWS_TOKENS, f.key_dim);
  op::kv_write(b, key, kNoSlot, index, 1);
  op::kv_write(b, table(b, "table_k", kKeyDim), kNoSlot, rows, 1);
  const Slot chosen = op::select(b, query, weights, {index, 1, f.heads, f.count});
  AttentionOptions options;
  options.group = rows;
  options.layer = 1;
  options.heads = kHeads;
  options.scale = kScale;
  options.selection = chosen;
  if (f.sinks) options.sinks = b.weight("sinks", Format::F32, 1, kHeads);
  b.result(chosen);
  const Slot attended = op::attention(b, table(b, "table_q", uint64_t{kHeads} * kKeyDim), options);
  return std::move(b).finish(op::gather_rows(b, attended), {max_tokens, max_tokens});
}

// ---- The oracle ---------------------------------------------------------------------------------

/// Positions chosen for token `own`, ascending, then -1.
std::vector<float> choice(const Index& f, const Rows& rows, uint32_t own) {
  std::vector<double> scores(own + 1);
  for (uint32_t i = 0; i <= own; ++i) {
    for (uint32_t h = 0; h < f.heads; ++h) {
      double product = 0;
      for (uint32_t d = 0; d < f.key_dim; ++d) {
        product += double{rows.query[(uint64_t{own} * f.heads + h) * f.key_dim + d]} *
                   double{rows.key[uint64_t{i} * f.key_dim + d]};
      }
      if (product < 0) product = 0;
      scores[i] += double{rows.weights[uint64_t{own} * f.heads + h]} * product;
    }
    if (std::isnan(scores[i])) scores[i] = -std::numeric_limits<double>::infinity();
  }
  std::vector<bool> taken(own + 1);
  for (uint32_t n = 0; n < std::min(f.count, own + 1); ++n) {
    int64_t best = -1;
    for (uint32_t i = 0; i <= own; ++i) {
      if (!taken[i] && (best < 0 || scores[i] > scores[static_cast<size_t>(best)])) best = i;
    }
    taken[static_cast<size_t>(best)] = true;
  }
  std::vector<float> row;
  for (uint32_t i = 0; i <= own; ++i) {
    if (taken[i]) row.push_back(static_cast<float>(i));
  }
  row.resize(f.count, -1.0f);
  return row;
}

std::vector<float> attend(const Index& f, const std::vector<int32_t>& text, uint32_t own,
                          const std::vector<float>& chosen) {
  const std::vector<float> q = random_values("table_q", kVocab * uint64_t{kHeads} * kKeyDim);
  const std::vector<float> k = random_values("table_k", kVocab * uint64_t{kKeyDim});
  const std::vector<float> sinks = random_values("sinks", kHeads);
  std::vector<float> out;
  for (uint32_t h = 0; h < kHeads; ++h) {
    double sum = f.sinks ? std::exp(double{sinks[h]}) : 0;
    std::vector<double> result(kValueDim);
    for (const float position : chosen) {
      if (position < 0) break;
      const auto key = static_cast<uint64_t>(text[static_cast<size_t>(position)]) * kKeyDim;
      double score = 0;
      for (uint32_t d = 0; d < kKeyDim; ++d) {
        score += double{q[(static_cast<uint64_t>(text[own]) * kHeads + h) * kKeyDim + d]} *
                 double{k[key + d]};
      }
      const double weight = std::exp(kScale * score);
      sum += weight;
      for (uint32_t d = 0; d < kValueDim; ++d) result[d] += weight * double{k[key + d]};
    }
    for (const double value : result) out.push_back(static_cast<float>(value / sum));
  }
  return out;
}

// ---- Comparison with the oracle -----------------------------------------------------------------

/// Results of rows [first, first + count) of a step, separated.
struct ChosenRows {
  std::vector<float> chosen, attended;
  void add(const ChosenRows& more) {
    chosen.insert(chosen.end(), more.chosen.begin(), more.chosen.end());
    attended.insert(attended.end(), more.attended.begin(), more.attended.end());
  }
  bool operator==(const ChosenRows&) const = default;
};

struct Sequence {
  uint32_t number;
  std::vector<int32_t> text;
  Rows rows;
};

ChosenRows run(Runner& runner, const Index& f, const std::vector<Sequence>& sequences) {
  StepPlan plan;
  Rows all;
  uint64_t tokens = 0;
  for (const Sequence& sequence : sequences) {
    plan.parts.push_back({sequence.number, sequence.text});
    const auto append = [](std::vector<float>& to, const std::vector<float>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(all.query, sequence.rows.query);
    append(all.weights, sequence.rows.weights);
    append(all.key, sequence.rows.key);
    tokens += sequence.text.size();
  }
  plan.inputs = {all.query, all.weights, all.key};
  const std::vector<float> both = runner.run(plan);
  const auto middle = both.begin() + static_cast<ptrdiff_t>(tokens * f.count);
  return {{both.begin(), middle}, {middle, both.end()}};
}

ChosenRows run_sliced(Runner& runner, const Index& f, const Sequence& whole,
                      const std::vector<uint32_t>& slices) {
  ChosenRows all;
  uint32_t first = 0;
  const auto length = static_cast<uint32_t>(whole.text.size());
  for (size_t s = 0; first < length; ++s) {
    const uint32_t count = std::min(slices[std::min(s, slices.size() - 1)], length - first);
    const auto begin = whole.text.begin() + first;
    all.add(
        run(runner, f, {{whole.number, {begin, begin + count}, whole.rows.part(f, first, count)}}));
    first += count;
  }
  return all;
}

/// Expects the oracle's choice and attention, equal choices for all slices, and, on devices that
/// guarantee them, equal bits, even beside others.
void check(const Index& f, const Rows& rows, bool exact = true) {
  SCOPED_TRACE(testing::PrintToString(f));
  const uint32_t length = rows.count(f);
  const Sequence whole{0, mixed_tokens(length), rows};
  const Program program = program_of(f, length + 8);
  const RunnerOptions room{.host = {}, .max_positions = length + 256};
  Runner alone(target(), program, room);
  const ChosenRows result = run(alone, f, {whole});
  ChosenRows expected;
  for (uint32_t own = 0; exact && own < length; ++own) {
    const std::vector<float> row = choice(f, rows, own);
    expected.add({row, attend(f, whole.text, own, row)});
  }
  if (exact) {
    EXPECT_EQ(result.chosen, expected.chosen);
  }
  if (exact && f.type == TENON_TYPE_F32) {
    Deviation deviation;
    deviation.add(result.attended, expected.attended);
    EXPECT_LE(deviation.relative_rmse(), float_tolerance());
  }
  for (const std::vector<uint32_t>& slices :
       {std::vector<uint32_t>{1, 14, 2, 1, 33}, {std::max(length, 2u) - 1, 1}}) {
    Runner sliced(target(), program, room);
    const ChosenRows cut = run_sliced(sliced, f, whole, slices);
    EXPECT_EQ(cut.chosen, result.chosen);
    if (is_batch_invariant()) {
      EXPECT_EQ(cut.attended, result.attended);
    }
  }
  RunnerOptions crowd = room;
  crowd.host.threads = 5;
  Runner among(target(), program, crowd);
  const ChosenRows rest = run(among, f,
                              {{1, mixed_tokens(3, 1), rows_of(f, 3, 1)},
                               whole,
                               {2, mixed_tokens(5, 2), rows_of(f, 5, 2)}});
  const auto own_rows = [&](const std::vector<float>& all, uint64_t columns) {
    const auto begin = all.begin() + static_cast<ptrdiff_t>(3 * columns);
    return std::vector<float>(begin, begin + static_cast<ptrdiff_t>(length * columns));
  };
  EXPECT_EQ(own_rows(rest.chosen, f.count), result.chosen);
  if (is_batch_invariant()) {
    EXPECT_EQ(own_rows(rest.attended, uint64_t{kHeads} * kValueDim), result.attended);
  }
}

TEST(Select, ShapesOfIndices) {
  for (const uint32_t heads : {1, 2, 7, 64}) {
    for (const uint32_t key_dim : {1, 17, 128}) {
      const Index f{.heads = heads, .key_dim = key_dim, .count = 6};
      check(f, rows_of(f, 60));
    }
  }
}

TEST(Select, NumbersOfPositions) {
  for (const uint32_t count : {1, 2, 15, 16, 17, 89, 90, 91, 5000}) {
    const Index f{.count = count, .sinks = count == 16};
    check(f, rows_of(f, 90));
  }
}

TEST(Select, LongPasts) {
  for (const uint32_t count : {3, 40, 256, 300}) {
    const Index f{.heads = 2, .key_dim = 8, .count = count, .block_tokens = 32};
    check(f, rows_of(f, 530));
  }
}

TEST(Select, ByHalfPrecision) {
  const Index f{.type = TENON_TYPE_F16};
  check(f, rows_of(f, 300));
}

TEST(Select, ByRowsThatTheCacheRounds) {
  for (const uint32_t type : {TENON_CACHE_INT8, TENON_CACHE_Q4}) {
    const Index f{.key_dim = 32, .type = type};
    Rows rows = rows_of(f, 80);
    rows.query = random_values("query", rows.query.size());
    rows.weights = random_values("weights", rows.weights.size());
    rows.key = random_values("key", rows.key.size());
    check(f, rows, false);
    const Program program = program_of(f, 80);
    Runner tested(target(), program);
    Runner expected(reference(), program, {.host = {.threads = 1}});
    const ChosenRows result = run(tested, f, {{0, mixed_tokens(80), rows}});
    const ChosenRows known = run(expected, f, {{0, mixed_tokens(80), rows}});
    EXPECT_EQ(result.chosen, known.chosen);
    Deviation deviation;
    deviation.add(result.attended, known.attended);
    EXPECT_LE(deviation.relative_rmse(), float_tolerance());
  }
}

TEST(Select, OfEqualScoresTheLowerPositions) {
  const Index f{.count = 20};
  Rows rows = rows_of(f, 300);
  std::fill(rows.weights.begin() + 100 * f.heads, rows.weights.end(), 0.0f);
  check(f, rows);
  std::fill(rows.key.begin(), rows.key.end(), 1.0f);
  check(f, rows);
}

TEST(Select, ScoresThatAreNoNumbersComeLast) {
  const Index f{.count = 20};
  Rows rows = rows_of(f, 300);
  for (const uint32_t own : {0, 30, 299}) rows.weights[uint64_t{own} * f.heads + 1] = kNan;
  for (const uint32_t i : {0, 7, 25, 256, 280}) rows.key[uint64_t{i} * f.key_dim + 3] = kNan;
  check(f, rows);
  std::fill(rows.query.begin(), rows.query.end(), kNan);
  check(f, rows);
}

TEST(Select, AllPositionsAreWhatAttentionSeesWithoutASelection) {
  const Index f{.count = 64};
  const Rows rows = rows_of(f, 64);
  const Sequence whole{0, mixed_tokens(64), rows};
  const Program selecting = program_of(f, 64);
  Runner some(target(), selecting);
  const ChosenRows result = run(some, f, {whole});
  ProgramBuilder b;
  AttentionOptions options;
  options.group =
      b.cache_group({1, 1, kKeyDim, kValueDim, f.type, f.block_tokens, 0, TENON_CACHE_LATENT});
  op::kv_write(b, table(b, "table_k", kKeyDim), kNoSlot, options.group, 0);
  options.heads = kHeads;
  options.scale = kScale;
  const Slot q = table(b, "table_q", uint64_t{kHeads} * kKeyDim);
  const Program program =
      std::move(b).finish(op::gather_rows(b, op::attention(b, q, options)), {64, 64});
  Runner all(target(), program);
  const std::vector<float> expected = all.run({{{0, whole.text}}});
  Deviation deviation;
  deviation.add(result.attended, expected);
  EXPECT_LE(deviation.relative_rmse(), float_tolerance());
  if (is_batch_invariant()) {
    EXPECT_EQ(result.attended, expected);
  }
}

TEST(Select, ARewoundSequenceChoosesAmongWhatIsLeft) {
  const Index f{};
  const Rows first = rows_of(f, 50);
  const Rows second = rows_of(f, 30, 4);
  Rows joined = first.part(f, 0, 20);
  joined.query.insert(joined.query.end(), second.query.begin(), second.query.end());
  joined.weights.insert(joined.weights.end(), second.weights.begin(), second.weights.end());
  joined.key.insert(joined.key.end(), second.key.begin(), second.key.end());
  const Program program = program_of(f, 64);
  Runner runner(target(), program);
  run(runner, f, {{0, mixed_tokens(50), first}});
  runner.rewind(0, 20);
  const ChosenRows result = run(runner, f, {{0, mixed_tokens(30, 9), second}});
  std::vector<float> expected;
  for (uint32_t own = 20; own < 50; ++own) {
    const std::vector<float> row = choice(f, joined, own);
    expected.insert(expected.end(), row.begin(), row.end());
  }
  EXPECT_EQ(result.chosen, expected);
}

}  // namespace
}  // namespace tenon::conformance
