// kv_write and attention: caches filled by earlier steps, by this step, by neighbours; heads that
// share a KV head; windows, sinks, soft caps.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "program/cache_types.h"
#include "program/operations.h"
#include "tests/conformance/program_runner.h"
#include "tests/conformance/tolerances.h"

namespace tenon::conformance {
namespace {

struct Shape {
  uint32_t heads = 4;
  uint32_t kv_heads = 2;
  uint32_t key_dim = 32;
  uint32_t value_dim = 32;
  uint32_t type = TENON_TYPE_F32;
  uint32_t block_tokens = 32;
  uint32_t window = 0;
  float soft_cap = 0;
  float scale = 0;  ///< 0 means 1 / sqrt(key_dim)
  bool sinks = false;
  uint32_t layers = 1;
};

void PrintTo(const Shape& s, std::ostream* out) {
  *out << s.heads << "/" << s.kv_heads << " heads of " << s.key_dim << ", " << s.value_dim << " "
       << find_cache_type(s.type)->name << ", blocks of " << s.block_tokens << ", window "
       << s.window << ", cap " << s.soft_cap << (s.sinks ? ", sinks" : "");
}

/// Attention over keys and values from tables, so that both backends write equal bits to their
/// caches. The results of several layers are added up.
Program program_of(const Shape& s, uint32_t max_tokens) {
  ProgramBuilder b;
  const uint32_t group =
      b.cache_group({s.layers, s.kv_heads, s.key_dim, s.value_dim, s.type, s.block_tokens});
  const auto rows = [&](const std::string& name, uint32_t heads, uint32_t dim) {
    return op::embed(b, b.weight("table_" + name, Format::F32, kVocab, uint64_t{heads} * dim));
  };
  Slot sum = kNoSlot;
  for (uint32_t layer = 0; layer < s.layers; ++layer) {
    const std::string number = std::to_string(layer);
    op::kv_write(b, rows("k" + number, s.kv_heads, s.key_dim),
                 rows("v" + number, s.kv_heads, s.value_dim), group, layer);
    AttentionOptions options;
    options.group = group;
    options.layer = layer;
    options.heads = s.heads;
    options.scale = s.scale != 0 ? s.scale : 1 / std::sqrt(static_cast<float>(s.key_dim));
    options.soft_cap = s.soft_cap;
    options.window = s.window;
    if (s.sinks) options.sinks = b.weight("sinks" + number, Format::F32, 1, s.heads);
    const Slot out = op::attention(b, rows("q" + number, s.heads, s.key_dim), options);
    sum = sum == kNoSlot ? out : op::add(b, sum, out);
  }
  return std::move(b).finish(op::gather_rows(b, sum), {max_tokens, max_tokens});
}

void check(const Shape& shape, const std::vector<StepPlan>& steps) {
  SCOPED_TRACE(testing::PrintToString(shape));
  uint32_t max_tokens = 1;
  uint32_t positions = 0;
  for (const StepPlan& step : steps) {
    uint32_t count = 0;
    for (const Part& part : step.parts) count += static_cast<uint32_t>(part.tokens.size());
    max_tokens = std::max(max_tokens, count);
    positions += count;
  }
  expect_like_reference(program_of(shape, max_tokens), steps, float_tolerance(),
                        {.host = {}, .max_positions = positions + 256});
}

/// Steps of one sequence with these many tokens.
std::vector<StepPlan> growing(std::initializer_list<uint32_t> counts) {
  std::vector<StepPlan> steps;
  uint32_t first = 0;
  for (const uint32_t count : counts) {
    steps.push_back({{{0, tokens(count, kVocab, first)}}});
    first += 5 * count + 1;
  }
  return steps;
}

/// Pasts 0, 1, 2, an odd one, around block edges.
std::vector<StepPlan> block_edges() { return growing({1, 1, 5, 8, 1, 1, 15, 1, 1, 0, 32, 7}); }

constexpr uint32_t kTypes[] = {TENON_TYPE_F32, TENON_TYPE_F16, TENON_CACHE_INT8, TENON_CACHE_Q4};

TEST(Attention, HeadsAndDimensions) {
  for (Shape s :
       {Shape{1, 1, 1, 1}, Shape{2, 1, 3, 5}, Shape{5, 1, 32, 32}, Shape{6, 3, 48, 48},
        Shape{4, 2, 80, 80}, Shape{1, 1, 96, 96}, Shape{3, 3, 64, 64}, Shape{8, 1, 128, 128},
        Shape{7, 1, 17, 33}, Shape{4, 4, 96, 64}, Shape{4, 2, 40, 96}, Shape{2, 2, 256, 256}}) {
    for (const uint32_t type : kTypes) {
      s.type = type;
      for (const uint32_t block_tokens : {16, 32}) {
        s.block_tokens = block_tokens;
        check(s, block_edges());
      }
    }
  }
}

TEST(Attention, LongPasts) {
  for (const uint32_t type : kTypes) {
    for (const uint32_t block_tokens : {16, 32, 64}) {
      Shape s{3, 1, 48, 48, type, block_tokens};
      check(s, growing({251, 1, 3, 1, 1, 1, 257, 1, 4, 6}));
    }
  }
}

/// More positions than a GPU group processes at once.
TEST(Attention, PositionsInParts) {
  Shape s{2, 1, 16, 24, TENON_TYPE_F16};
  s.sinks = true;
  check(s, growing({530, 1, 5, 12}));
}

TEST(AttentionBits, OfPositionsInParts) {
  if (!is_batch_invariant()) {
    GTEST_SKIP() << "the device promises no bits";
  }
  constexpr uint32_t kPast = 530;
  constexpr uint32_t kMore = 9;
  const Program program = program_of({2, 1, 16, 24, TENON_TYPE_F16}, kPast);
  const RunnerOptions options{.host = {}, .max_positions = 2 * kPast};
  Runner together(target(), program, options);
  Runner alone(target(), program, options);
  for (Runner* runner : {&together, &alone}) {
    StepPlan past{{{0, tokens(kPast, kVocab)}}};
    past.rows = std::vector<uint32_t>{};
    static_cast<void>(runner->run(past));
  }
  const std::vector<float> all = together.run({{{0, tokens(kMore, kVocab, kPast % kVocab)}}});
  std::vector<float> one_by_one;
  for (uint32_t i = 0; i < kMore; ++i) {
    const std::vector<float> row = alone.run({{{0, tokens(1, kVocab, (kPast + i) % kVocab)}}});
    one_by_one.insert(one_by_one.end(), row.begin(), row.end());
  }
  EXPECT_EQ(one_by_one, all);
}

TEST(Attention, Windows) {
  for (const uint32_t type : kTypes) {
    for (const uint32_t window : {1, 2, 15, 16, 17, 32, 70, 256, 300}) {
      Shape s{6, 3, 32, 32, type, 16, window};
      check(s, block_edges());
      check(s, growing({250, 1, 20, 1, 260}));
    }
  }
}

TEST(Attention, SinksAndSoftCaps) {
  for (const uint32_t type : kTypes) {
    for (const uint32_t window : {0, 20}) {
      for (const float cap : {0.0f, 0.5f, 30.0f}) {
        Shape s{6, 2, 48, 48, type, 32, window, cap};
        s.sinks = true;
        check(s, block_edges());
        s.sinks = false;
        s.scale = 1;  // large scores: weights differ strongly
        check(s, growing({40, 1, 255}));
      }
    }
  }
}

TEST(Attention, LargeScoresDoNotOverflow) {
  Shape s{4, 2, 64, 64};
  s.scale = 50;  // scores around 400: e^x overflows f32
  check(s, growing({33, 1, 300}));
}

TEST(Attention, LayersOfAGroupAreApart) {
  for (const uint32_t type : kTypes) {
    Shape s{4, 2, 24, 40, type, 16};
    s.layers = 3;
    check(s, block_edges());
  }
}

TEST(Attention, SequencesOfAllPhasesInOneStep) {
  for (const uint32_t type : kTypes) {
    Shape s{6, 3, 48, 48, type, 16};
    std::vector<StepPlan> steps;
    steps.push_back({{{0, tokens(37, kVocab)}, {1, tokens(1, kVocab, 9)}}});
    steps.push_back({{{2, tokens(270, kVocab)}, {0, tokens(1, kVocab, 3)}}});
    steps.push_back({{{1, tokens(15, kVocab, 5)},
                      {3, tokens(1, kVocab)},
                      {0, tokens(1, kVocab, 40)},
                      {2, tokens(1, kVocab, 41)},
                      {4, tokens(64, kVocab, 13)}}});
    steps.push_back({{{4, tokens(1, kVocab)}, {2, tokens(3, kVocab)}, {1, tokens(1, kVocab)}}});
    check(s, steps);
  }
}

TEST(Attention, TwoGroupsWithTheirOwnGeometry) {
  ProgramBuilder b;
  const uint32_t full = b.cache_group({1, 2, 32, 32, TENON_TYPE_F16, 32});
  const uint32_t window = b.cache_group({1, 1, 48, 64, TENON_TYPE_F32, 16});
  const auto rows = [&](const char* name, uint64_t width) {
    return op::embed(b, b.weight(name, Format::F32, kVocab, width));
  };
  op::kv_write(b, rows("table_k0", 64), rows("table_v0", 64), full, 0);
  op::kv_write(b, rows("table_k1", 48), rows("table_v1", 64), window, 0);
  AttentionOptions options;
  options.group = full;
  options.heads = 4;
  options.scale = 0.2f;
  const Slot first = op::attention(b, rows("table_q0", 128), options);
  options.group = window;
  options.heads = 2;
  options.window = 11;
  const Slot second = op::attention(b, rows("table_q1", 96), options);
  const Slot out = op::gather_rows(b, op::add(b, first, second));
  const std::vector<StepPlan> steps = block_edges();
  expect_like_reference(std::move(b).finish(out, {32, 32}), steps, float_tolerance());
}

TEST(Attention, AfterARewindOldPositionsAreGone) {
  const Program program = program_of({4, 2, 32, 32}, 40);
  Runner fresh(target(), program);
  Runner rewound(target(), program);
  fresh.run({{{0, tokens(10, kVocab)}}});
  rewound.run({{{0, tokens(40, kVocab)}}});
  rewound.rewind(0, 10);
  const StepPlan next{{{0, tokens(3, kVocab, 50)}}};
  EXPECT_EQ(rewound.run(next), fresh.run(next));
}

}  // namespace
}  // namespace tenon::conformance
