// Plans of attention work: every position of every token once, and chunks only if they help.
#include "backends/cpu/phases/attention_plan.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <vector>

namespace tenon::cpu {
namespace {

constexpr uint32_t kMaxTokens = 512;

struct Sequence {
  uint32_t past, count;
  uint32_t cross_positions = 0;
};

AttentionShape shape_of(uint32_t kv_heads, uint32_t group_heads, uint32_t window = 0,
                        uint32_t mask = TENON_MASK_CAUSAL) {
  tenon_attention_params params{};
  params.heads = kv_heads * group_heads;
  params.window = window;
  params.mask = mask;
  return {params,
          tenon_cache_group{1, kv_heads, 64, 64, TENON_TYPE_F16, 32, TENON_CACHE_FULL, 0, 0, 0, 0}};
}

/// Visibility as defined in tenon/backend.h.
bool sees(const AttentionShape& shape, int64_t own, int64_t i) {
  const int64_t window = shape.window;
  switch (shape.mask) {
    case TENON_MASK_CAUSAL:
      return i <= own && (window == 0 || i > own - window);
    case TENON_MASK_CHUNKED:
      return own - own % window <= i && i <= own;
    case TENON_MASK_SYMMETRIC:
      return window == 0 || std::abs(i - own) <= window / 2;
    default:
      return true;
  }
}

/// A step's plan, checked: tiles cover the tokens in order, chunks of a tile its spans.
AttentionPlan plan_of(const AttentionShape& shape, const std::vector<Sequence>& sequences,
                      uint32_t threads) {
  AttentionPlan plan(shape, kMaxTokens, threads);
  std::vector<tenon_step_sequence> parts;
  std::vector<uint32_t> positions;
  std::vector<uint32_t> seen_at_most;  // by token: positions of its sequence in the group
  for (const Sequence& s : sequences) {
    parts.push_back(
        {static_cast<uint32_t>(positions.size()), s.count, s.past, s.cross_positions, nullptr});
    for (uint32_t i = 0; i < s.count; ++i) positions.push_back(s.past + i);
    seen_at_most.resize(positions.size(),
                        shape.mask == TENON_MASK_CROSS ? s.cross_positions : s.past + s.count);
  }
  tenon_step step{};
  step.num_tokens = static_cast<uint32_t>(positions.size());
  step.num_sequences = static_cast<uint32_t>(parts.size());
  step.sequence_size = sizeof(tenon_step_sequence);
  step.sequences = parts.data();
  plan.build(step, positions);

  std::map<uint32_t, std::set<uint32_t>> spans_of;  // by token
  EXPECT_EQ(plan.num_items() % shape.kv_heads, 0u);
  const uint32_t head_items = plan.num_items() / shape.kv_heads;
  for (uint32_t item = 0; item < plan.num_items(); ++item) {
    EXPECT_EQ(plan.kv_head(item), item / head_items);
    EXPECT_EQ(&plan.chunk(item), &plan.chunk(item % head_items));
  }
  for (uint32_t item = 0; item < head_items; ++item) {
    const AttentionChunk& chunk = plan.chunk(item);
    const AttentionTile& tile = plan.tile(chunk);
    EXPECT_LT(chunk.first_span, chunk.end_span);
    EXPECT_LE(tile.num_tokens, shape.max_tile_tokens());
    EXPECT_EQ(tile.positions, seen_at_most[tile.first_token]);
    for (uint32_t t = tile.first_token; t < tile.first_token + tile.num_tokens; ++t) {
      for (uint32_t s = chunk.first_span; s < chunk.end_span; ++s) {
        EXPECT_TRUE(spans_of[t].insert(s).second) << "token " << t << ", span " << s;
      }
    }
  }
  EXPECT_EQ(spans_of.size(), positions.size());
  for (const auto& [token, spans] : spans_of) {
    std::set<uint32_t> wanted;
    for (uint32_t i = 0; i < seen_at_most[token]; ++i) {
      if (sees(shape, positions[token], i)) wanted.insert(i / kAttentionSpan);
    }
    for (const uint32_t s : wanted) {
      EXPECT_EQ(spans.count(s), 1u) << "token " << token << ", span " << s;
    }
    EXPECT_LT(*spans.rbegin() * kAttentionSpan, seen_at_most[token]);
  }
  return plan;
}

TEST(AttentionPlan, CoversEveryPositionOnce) {
  for (const uint32_t threads : {1, 2, 7, 64}) {
    for (const uint32_t window : {0, 1, 300}) {
      plan_of(shape_of(1, 1, window), {{0, 1}}, threads);
      plan_of(shape_of(8, 4, window), {{0, 512}}, threads);
      plan_of(shape_of(1, 71, window), {{255, 3}, {100000, 1}, {0, 1}, {1000, 100}}, threads);
      plan_of(shape_of(2, 7, window), {{8191, 1}}, threads);
    }
  }
}

TEST(AttentionPlan, CoversWhatEachMaskSees) {
  for (const uint32_t threads : {1, 7}) {
    for (const uint32_t window : {1, 100, 256, 700}) {
      plan_of(shape_of(2, 4, window, TENON_MASK_CHUNKED), {{0, 300}, {5000, 3}, {255, 2}}, threads);
      plan_of(shape_of(2, 4, window, TENON_MASK_SYMMETRIC), {{0, 1}, {0, 300}, {0, 200}}, threads);
    }
    plan_of(shape_of(2, 4, 0, TENON_MASK_SYMMETRIC), {{0, 512}, {0, 2}}, threads);
    plan_of(shape_of(2, 4, 0, TENON_MASK_CROSS), {{0, 1, 1}, {9000, 40, 256}, {3, 2, 3000}},
            threads);
  }
}

TEST(AttentionPlan, OneThreadNeedsNoChunks) {
  EXPECT_EQ(plan_of(shape_of(1, 8), {{100000, 1}}, 1).num_items(), 1u);
}

TEST(AttentionPlan, ALongSequenceIsCutForManyThreads) {
  const AttentionPlan plan = plan_of(shape_of(1, 8), {{100000, 1}}, 4);
  EXPECT_GE(plan.num_items(), 16u);
  EXPECT_GT(plan.total_partial_floats(), 0u);
}

TEST(AttentionPlan, AShortSequenceBesideALongOneStaysWhole) {
  const AttentionPlan plan = plan_of(shape_of(2, 4), {{300, 1}, {50000, 1}, {500, 1}}, 4);
  for (uint32_t item = 0; item < plan.num_items(); ++item) {
    const AttentionTile& tile = plan.tile(plan.chunk(item));
    EXPECT_EQ(tile.num_chunks > 1, tile.first_token == 1) << item;
  }
}

TEST(AttentionPlan, PromptsAreNotCut) {
  EXPECT_EQ(plan_of(shape_of(8, 4), {{7680, 512}}, 2).total_partial_floats(), 0u);
}

TEST(AttentionPlan, WindowsSkipWhatIsBeforeThem) {
  const AttentionPlan plan = plan_of(shape_of(1, 1, 100), {{10000, 1}}, 1);
  ASSERT_EQ(plan.num_items(), 1u);
  EXPECT_EQ(plan.chunk(0).end_span - plan.chunk(0).first_span, 2u);
}

TEST(AttentionPlan, TheLastChunkOfATileIsToldSo) {
  AttentionPlan plan = plan_of(shape_of(2, 4), {{50000, 1}}, 4);
  const AttentionTile& tile = plan.tile(plan.chunk(0));
  ASSERT_GT(tile.num_chunks, 1u);
  for (int layer = 0; layer < 2; ++layer) {
    for (uint32_t head = 0; head < 2; ++head) {
      for (uint32_t i = 1; i < tile.num_chunks; ++i) EXPECT_FALSE(plan.finish_chunk(tile, head));
      EXPECT_TRUE(plan.finish_chunk(tile, head));
    }
  }
}

}  // namespace
}  // namespace tenon::cpu
