// Forms of attention (masks, biases, latent rows, other texts) against a double loop without
// blocks, tiles or spans; and against the reference for rounding caches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "program/cache_types.h"
#include "program/operations.h"
#include "tests/base/expect_error.h"
#include "tests/conformance/program_runner.h"
#include "tests/conformance/tolerances.h"

namespace tenon::conformance {
namespace {

/// One attention operation, and the group it reads.
struct Form {
  uint32_t kind = TENON_CACHE_FULL;
  uint32_t mask = TENON_MASK_CAUSAL;
  uint32_t heads = 4;
  uint32_t kv_heads = 2;
  uint32_t key_dim = 32;
  uint32_t value_dim = 32;
  uint32_t type = TENON_TYPE_F32;
  uint32_t block_tokens = 16;
  uint32_t window = 0;
  uint32_t bias = TENON_BIAS_NONE;
  bool two_sided = false;
  uint32_t buckets = 32;
  uint32_t max_distance = 128;
  float soft_cap = 0;
  bool sinks = false;
};

void PrintTo(const Form& f, std::ostream* out) {
  *out << "kind " << f.kind << ", mask " << f.mask << ", bias " << f.bias << ", " << f.heads << "/"
       << f.kv_heads << " heads of " << f.key_dim << ", " << f.value_dim << " "
       << find_cache_type(f.type)->name << ", blocks of " << f.block_tokens << ", window "
       << f.window << (f.sinks ? ", sinks" : "");
}

float scale_of(const Form& f) { return 1.5f / std::sqrt(static_cast<float>(f.key_dim)); }

std::vector<double> slopes_of(const Form& f) {
  std::vector<double> slopes;
  for (uint32_t h = 0; h < f.heads; ++h) slopes.push_back(std::pow(2.0, -8.0 * (h + 1) / f.heads));
  return slopes;
}

Slot rows_of(ProgramBuilder& b, const char* name, uint64_t columns) {
  return op::embed(b, b.weight(name, Format::F32, kVocab, columns));
}

CacheGroup group_of(const Form& f) {
  return {1, f.kv_heads, f.key_dim, f.value_dim, f.type, f.block_tokens, 0, f.kind};
}

void write_cache(ProgramBuilder& b, const Form& f, uint32_t group) {
  const bool latent = f.kind == TENON_CACHE_LATENT;
  op::kv_write(b, rows_of(b, "table_k", uint64_t{f.kv_heads} * f.key_dim),
               latent ? kNoSlot : rows_of(b, "table_v", uint64_t{f.kv_heads} * f.value_dim), group,
               0);
}

/// Attention over rows of tables. Attention to another text reads the rows written by encoder_of.
Program program_of_form(const Form& f, uint32_t max_tokens) {
  ProgramBuilder b;
  AttentionOptions options;
  options.group = b.cache_group(group_of(f));
  if (f.kind != TENON_CACHE_CROSS) write_cache(b, f, options.group);
  options.heads = f.heads;
  options.scale = scale_of(f);
  options.soft_cap = f.soft_cap;
  options.window = f.window;
  options.mask = f.mask;
  options.bias = f.bias;
  options.two_sided = f.two_sided;
  if (f.bias == TENON_BIAS_ALIBI) options.bias_values = b.constant("slopes", slopes_of(f));
  if (f.bias == TENON_BIAS_RELATIVE) {
    options.max_distance = f.max_distance;
    options.bias_values = b.weight("table_bias", Format::F32, f.buckets, f.heads);
  }
  if (f.sinks) options.sinks = b.weight("sinks", Format::F32, 1, f.heads);
  const Slot q = rows_of(b, "table_q", uint64_t{f.heads} * f.key_dim);
  return std::move(b).finish(op::gather_rows(b, op::attention(b, q, options)),
                             {max_tokens, max_tokens});
}

/// Writes a CROSS group as its own positions.
Program encoder_of(const Form& f, uint32_t max_tokens) {
  ProgramBuilder b;
  write_cache(b, f, b.cache_group(group_of(f)));
  return std::move(b).finish(op::gather_rows(b, rows_of(b, "table_out", 1)),
                             {max_tokens, max_tokens});
}

// ---- The oracle --------------------------------------------------------------------------------

bool sees(const Form& f, int64_t own, int64_t i) {
  const int64_t window = f.window;
  switch (f.mask) {
    case TENON_MASK_CAUSAL:
      return i <= own && (window == 0 || i > own - window);
    case TENON_MASK_CHUNKED:
      return i <= own && i / window == own / window;
    case TENON_MASK_SYMMETRIC:
      return window == 0 || std::abs(i - own) <= window / 2;
    default:
      return true;
  }
}

/// The bucket of transformers' T5; `after` is positive for later positions.
uint32_t t5_bucket(const Form& f, int64_t after) {
  uint32_t buckets = f.buckets;
  uint32_t first = 0;
  if (f.two_sided) {
    buckets /= 2;
    if (after > 0) first = buckets;
    after = std::abs(after);
  } else {
    after = -std::min<int64_t>(after, 0);
  }
  const auto exact = static_cast<int64_t>(buckets / 2);
  if (after < exact) return first + static_cast<uint32_t>(after);
  const auto ratio = [&](int64_t of) {
    return std::log(static_cast<float>(of) / static_cast<float>(exact));
  };
  const auto more = static_cast<uint32_t>(ratio(after) / ratio(f.max_distance) *
                                          static_cast<float>(buckets - exact));
  return first + std::min(buckets - 1, static_cast<uint32_t>(exact) + more);
}

/// Attention of a whole sequence by its formula.
///   own, keys  the attending tokens and those attended to
std::vector<float> oracle(const Form& f, const std::vector<int32_t>& own,
                          const std::vector<int32_t>& keys) {
  const bool latent = f.kind == TENON_CACHE_LATENT;
  const uint64_t k_width = uint64_t{f.kv_heads} * f.key_dim;
  const uint64_t v_width = latent ? k_width : uint64_t{f.kv_heads} * f.value_dim;
  const std::vector<float> q = random_values("table_q", kVocab * uint64_t{f.heads} * f.key_dim);
  const std::vector<float> k = random_values("table_k", kVocab * k_width);
  const std::vector<float> v = latent ? k : random_values("table_v", kVocab * v_width);
  const std::vector<float> table = random_values("table_bias", uint64_t{f.buckets} * f.heads);
  const std::vector<float> sinks = random_values("sinks", f.heads);
  std::vector<float> out;
  for (size_t t = 0; t < own.size(); ++t) {
    for (uint32_t h = 0; h < f.heads; ++h) {
      const uint32_t g = h / (f.heads / f.kv_heads);
      double sum = f.sinks ? std::exp(double{sinks[h]}) : 0;
      std::vector<double> result(f.value_dim);
      for (size_t i = 0; i < keys.size(); ++i) {
        const auto after = static_cast<int64_t>(i) - static_cast<int64_t>(t);
        if (!sees(f, static_cast<int64_t>(t), static_cast<int64_t>(i))) continue;
        double score = 0;
        for (uint32_t d = 0; d < f.key_dim; ++d) {
          score += double{q[(static_cast<uint64_t>(own[t]) * f.heads + h) * f.key_dim + d]} *
                   double{k[static_cast<uint64_t>(keys[i]) * k_width + g * f.key_dim + d]};
        }
        score *= scale_of(f);
        if (f.soft_cap > 0) score = f.soft_cap * std::tanh(score / f.soft_cap);
        if (f.bias == TENON_BIAS_ALIBI)
          score -= slopes_of(f)[h] * static_cast<double>(std::abs(after));
        if (f.bias == TENON_BIAS_RELATIVE) score += table[t5_bucket(f, after) * f.heads + h];
        const double weight = std::exp(score);
        sum += weight;
        for (uint32_t d = 0; d < f.value_dim; ++d) {
          result[d] += weight * v[static_cast<uint64_t>(keys[i]) * v_width + g * f.value_dim + d];
        }
      }
      for (const double value : result) out.push_back(static_cast<float>(value / sum));
    }
  }
  return out;
}

// ---- Comparison with the oracle -----------------------------------------------------------------

void expect_near(const std::vector<float>& result, const std::vector<float>& expected) {
  Deviation deviation;
  deviation.add(result, expected);
  EXPECT_LE(deviation.relative_rmse(), float_tolerance());
}

/// Runs the sequence in slices of these sizes, then of the last size.
std::vector<float> run_sliced(Runner& runner, const std::vector<int32_t>& text,
                              const std::vector<uint32_t>& slices) {
  std::vector<float> all;
  size_t slice = 0;
  for (size_t first = 0; first < text.size(); ++slice) {
    const uint32_t wanted = slices[std::min(slice, slices.size() - 1)];
    const size_t count = std::min<size_t>(wanted, text.size() - first);
    const auto begin = text.begin() + static_cast<ptrdiff_t>(first);
    const std::vector<float> rows =
        runner.run({{{0, {begin, begin + static_cast<ptrdiff_t>(count)}}}});
    all.insert(all.end(), rows.begin(), rows.end());
    first += count;
  }
  return all;
}

/// For forms that allow slices: the oracle's values, with equal bits for all slices and beside
/// other sequences.
void check_slices(const Form& f, uint32_t length) {
  SCOPED_TRACE(testing::PrintToString(f));
  const std::vector<int32_t> text = mixed_tokens(length);
  const Program program = program_of_form(f, length + 8);
  const RunnerOptions room{.host = {}, .max_positions = length + 256};
  Runner whole(target(), program, room);
  const std::vector<float> result = whole.run({{{0, text}}});
  if (f.type == TENON_TYPE_F32) expect_near(result, oracle(f, text, text));
  if (!is_batch_invariant()) return;
  for (const std::vector<uint32_t>& slices :
       {std::vector<uint32_t>{1, 14, 2, 1, 33}, {length - 1, 1}}) {
    Runner sliced(target(), program, room);
    EXPECT_EQ(run_sliced(sliced, text, slices), result);
  }
  RunnerOptions crowd = room;
  crowd.host.threads = 5;
  Runner among(target(), program, crowd);
  std::vector<float> rows =
      among.run({{{1, mixed_tokens(3, 1)}, {0, text}, {2, mixed_tokens(5, 2)}}});
  const size_t columns = result.size() / length;
  rows.erase(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(3 * columns));
  rows.resize(result.size());
  EXPECT_EQ(rows, result);
}

/// For forms that see the whole sequence.
void check_whole(const Form& f, uint32_t length) {
  SCOPED_TRACE(testing::PrintToString(f));
  const std::vector<int32_t> text = mixed_tokens(length);
  const Program program = program_of_form(f, 2 * length + 8);
  const RunnerOptions room{.host = {.threads = 3}, .max_positions = 2 * length + 256};
  Runner alone(target(), program, room);
  const std::vector<float> result = alone.run({{{0, text}}});
  if (f.type == TENON_TYPE_F32) expect_near(result, oracle(f, text, text));
  if (!is_batch_invariant()) return;
  Runner among(target(), program, room);
  std::vector<float> rows =
      among.run({{{1, mixed_tokens(7, 1)}, {0, text}, {2, mixed_tokens(1, 2)}}});
  const size_t columns = result.size() / length;
  rows.erase(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(7 * columns));
  rows.resize(result.size());
  EXPECT_EQ(rows, result);
}

constexpr uint32_t kFormTypes[] = {TENON_TYPE_F32, TENON_TYPE_F16, TENON_CACHE_INT8,
                                   TENON_CACHE_Q4};

/// For rounding caches: results equal the reference's, which rounds alike.
void check_types(Form f, const std::vector<StepPlan>& steps, uint32_t max_tokens,
                 uint32_t positions) {
  for (const uint32_t type : kFormTypes) {
    f.type = type;
    SCOPED_TRACE(testing::PrintToString(f));
    expect_like_reference(program_of_form(f, max_tokens), steps, float_tolerance(),
                          {.host = {}, .max_positions = positions + 256});
  }
}

TEST(AttentionMask, CausalWindows) {
  for (const uint32_t window : {0, 1, 17, 300}) {
    check_slices({.kind = TENON_CACHE_FULL, .window = window}, 290);
  }
}

TEST(AttentionMask, Chunks) {
  for (const uint32_t window : {1, 7, 16, 100, 256, 300, 1000}) {
    check_slices({.mask = TENON_MASK_CHUNKED, .window = window}, 330);
  }
  check_types({.mask = TENON_MASK_CHUNKED, .window = 40, .sinks = true},
              {{{{0, mixed_tokens(70)}}}, {{{0, mixed_tokens(1)}, {1, mixed_tokens(41)}}}}, 70,
              200);
}

TEST(AttentionMask, SymmetricSeesWhatComesAfter) {
  for (const uint32_t window : {0, 1, 2, 15, 64, 513, 5000}) {
    for (const uint32_t length : {1, 2, 17, 300}) {
      check_whole({.mask = TENON_MASK_SYMMETRIC, .window = window}, length);
    }
  }
  check_whole({.mask = TENON_MASK_SYMMETRIC, .soft_cap = 2, .sinks = true}, 40);
  check_types({.mask = TENON_MASK_SYMMETRIC, .window = 20},
              {{{{0, mixed_tokens(70)}, {1, mixed_tokens(3)}}}, {{{2, mixed_tokens(41)}}}}, 80,
              200);
}

TEST(AttentionMask, SymmetricTakesNoSequenceThatWasBegun) {
  const Program program = program_of_form({.mask = TENON_MASK_SYMMETRIC}, 8);
  Runner runner(target(), program,
                {.host = {}, .max_positions = 64, .encoder = nullptr, .verify = false});
  runner.run({{{0, mixed_tokens(3)}}});
  expect_error(Code::Argument, testing::HasSubstr("symmetric"), [&] {
    runner.run({{{1, mixed_tokens(2)}, {0, mixed_tokens(2)}}});
  });
  EXPECT_NO_THROW(runner.run({{{1, mixed_tokens(2)}, {2, mixed_tokens(2)}}}));
}

TEST(AttentionBias, Alibi) {
  for (const uint32_t heads : {2, 6}) {
    Form f{.heads = heads, .bias = TENON_BIAS_ALIBI};
    check_slices(f, 290);
    f.soft_cap = 3;
    f.sinks = true;
    f.window = 30;
    check_slices(f, 70);
    f.mask = TENON_MASK_SYMMETRIC;
    check_whole(f, 290);
  }
  check_types({.bias = TENON_BIAS_ALIBI}, {{{{0, mixed_tokens(70)}}}, {{{0, mixed_tokens(2)}}}}, 70,
              200);
}

TEST(AttentionBias, RelativeOfOneSide) {
  for (const uint32_t buckets : {2, 5, 32}) {
    for (const uint32_t max_distance : {20, 128, 5000}) {
      check_slices({.bias = TENON_BIAS_RELATIVE, .buckets = buckets, .max_distance = max_distance},
                   290);
    }
  }
}

TEST(AttentionBias, RelativeOfTwoSides) {
  Form f{.mask = TENON_MASK_SYMMETRIC, .bias = TENON_BIAS_RELATIVE, .two_sided = true};
  for (const uint32_t buckets : {4, 32, 64}) {
    f.buckets = buckets;
    check_whole(f, 300);
  }
  f.window = 50;
  check_whole(f, 100);
  f.two_sided = false;
  check_whole(f, 100);
  check_types(f, {{{{0, mixed_tokens(70)}}}}, 70, 200);
}

TEST(AttentionLatent, HeadsAndDimensions) {
  const struct {
    uint32_t heads, key_dim, value_dim;
  } kShapes[] = {{1, 1, 1},   {3, 17, 16},  {5, 33, 5},   {16, 80, 64},
                 {7, 96, 96}, {20, 48, 40}, {130, 24, 20}};
  for (const auto& s : kShapes) {
    const Form f{.kind = TENON_CACHE_LATENT,
                 .heads = s.heads,
                 .kv_heads = 1,
                 .key_dim = s.key_dim,
                 .value_dim = s.value_dim};
    check_slices(f, 37);
    check_types(f,
                {{{{0, mixed_tokens(21)}}},
                 {{{0, mixed_tokens(1)}, {1, mixed_tokens(18)}}},
                 {{{1, mixed_tokens(1)}}}},
                21, 60);
  }
}

TEST(AttentionLatent, AsLargeModelsHaveIt) {
  Form f{.kind = TENON_CACHE_LATENT,
         .heads = 16,
         .kv_heads = 1,
         .key_dim = 576,
         .value_dim = 512,
         .block_tokens = 32};
  check_slices(f, 40);
  check_types(f, {{{{0, mixed_tokens(19)}}}, {{{0, mixed_tokens(1)}}}}, 19, 60);
}

TEST(AttentionLatent, LongPastsMasksAndBiases) {
  Form f{.kind = TENON_CACHE_LATENT,
         .heads = 6,
         .kv_heads = 1,
         .key_dim = 48,
         .value_dim = 32,
         .soft_cap = 4,
         .sinks = true};
  for (const uint32_t type : kFormTypes) {
    f.type = type;
    check_slices(f, 530);
  }
  f.window = 40;
  check_slices(f, 90);
  f.mask = TENON_MASK_CHUNKED;
  check_slices(f, 90);
  f.bias = TENON_BIAS_ALIBI;
  check_slices(f, 90);
  f.mask = TENON_MASK_SYMMETRIC;
  check_whole(f, 90);
}

/// Two sequences read two texts; both results match the oracle and the reference.
void check_cross(Form f, uint32_t length) {
  f.kind = TENON_CACHE_CROSS;
  f.mask = TENON_MASK_CROSS;
  SCOPED_TRACE(testing::PrintToString(f));
  const Program encoder = encoder_of(f, length + 8);
  const Program program = program_of_form(f, 16);
  const std::vector<int32_t> text = mixed_tokens(length);
  const auto run = [&](const Target& on, uint32_t threads, const std::vector<uint32_t>& slices) {
    const RunnerOptions room{.host = {.threads = threads}, .max_positions = length + 256};
    Runner writes(on, encoder, room);
    writes.run({{{0, text}, {1, mixed_tokens(3, 5)}}});
    Runner reads(on, program, {.host = {}, .max_positions = 64, .encoder = &writes});
    if (slices.empty()) {
      std::vector<float> rows = reads.run({{{1, mixed_tokens(4)}, {0, mixed_tokens(9, 1)}}});
      rows.erase(rows.begin(), rows.begin() + 4 * f.heads * f.value_dim);
      return rows;
    }
    return run_sliced(reads, mixed_tokens(9, 1), slices);
  };
  const std::vector<float> result = run(target(), 2, {9});
  if (f.type == TENON_TYPE_F32) expect_near(result, oracle(f, mixed_tokens(9, 1), text));
  expect_near(result, run(reference(), 1, {9}));
  if (!is_batch_invariant()) return;
  EXPECT_EQ(run(target(), 3, {1, 3, 5}), result);
  EXPECT_EQ(run(target(), 1, {}), result);
}

TEST(AttentionCross, SeesAllOfAnotherText) {
  for (const uint32_t type : kFormTypes) {
    for (const uint32_t length : {1, 16, 17, 300, 530}) {
      check_cross({.type = type, .sinks = length == 17}, length);
    }
  }
}

TEST(AttentionCross, NeedsPositionsToAttendTo) {
  const Program program = program_of_form({.kind = TENON_CACHE_CROSS, .mask = TENON_MASK_CROSS}, 8);
  Runner runner(target(), program,
                {.host = {}, .max_positions = 64, .encoder = nullptr, .verify = false});
  expect_error(Code::Argument, testing::HasSubstr("cross_positions"), [&] {
    runner.run({{{0, mixed_tokens(3)}}});
  });
}

}  // namespace
}  // namespace tenon::conformance
