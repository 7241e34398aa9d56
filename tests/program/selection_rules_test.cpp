// Rules of operations over indices and over pooled rows: groups and inputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "program/operations.h"
#include "program/ops.h"

namespace tenon {
namespace {

template <typename F>
void expect_rule(F&& call, const char* text) {
  EXPECT_THAT(call, testing::Throws<Error>(
                        testing::AllOf(testing::Property(&Error::code, Code::Internal),
                                       testing::Property(&Error::what, testing::HasSubstr(text)))));
}

/// An index of two heads of 4 and attention of two KV heads of 8, with fields for tests to change.
struct SelectionRules {
  CacheGroup index{1, 1, 4, 4, TENON_TYPE_F32, 16, 0, TENON_CACHE_LATENT};
  CacheGroup rows{1, 2, 8, 8, TENON_TYPE_F32, 16};
  SelectBlocksOptions select{.heads = 2, .count = 3, .block = 5, .local = 1};
  AttentionOptions attention = defaults();

  static AttentionOptions defaults() {
    AttentionOptions options;
    options.heads = 4;
    options.selections = 2;
    options.selected_block = 5;
    return options;
  }
  [[nodiscard]] Program build() const {
    ProgramBuilder b;
    const auto embedded = [&](const char* name, uint64_t columns) {
      return op::embed(b, b.weight(name, Format::F32, 10, columns));
    };
    SelectBlocksOptions chosen = select;
    AttentionOptions options = attention;
    chosen.group = b.cache_group(index);
    options.group = b.cache_group(rows);
    op::kv_write(b, embedded("index key", 4), kNoSlot, chosen.group, 0);
    op::kv_write(b, embedded("key", 16), embedded("value", 16), options.group, 0);
    options.selection = op::select_blocks(b, embedded("index query", 8), chosen);
    return std::move(b).finish(op::gather_rows(b, op::attention(b, embedded("query", 32), options)),
                               {4, 4});
  }
};

TEST(SelectionRules, BlocksAreChosenForEachKvHead) {
  const Program program = SelectionRules{}.build();
  bool found = false;
  for (const tenon_op& op : program.ops()) {
    if (op.kind != TENON_OP_SELECT_BLOCKS) continue;
    found = true;
    EXPECT_EQ(program.slots()[op.outputs[0]].columns, 6u);
    EXPECT_EQ(program.slots()[op.outputs[0]].type, TENON_TYPE_I32);
  }
  EXPECT_TRUE(found);
}

TEST(SelectionRules, ASelectBlocksHasHeadsBlocksAndRows) {
  const auto refused = [](auto change, const char* text) {
    SelectionRules rules;
    change(rules);
    expect_rule([&] { (void)rules.build(); }, text);
  };
  refused([](SelectionRules& r) { r.select.heads = 0; }, "no head");
  refused([](SelectionRules& r) { r.select.heads = 3; }, "expected 3 heads of 4");
  refused([](SelectionRules& r) { r.select.count = 0; }, "0 blocks of 5 positions");
  refused([](SelectionRules& r) { r.select.block = 0; }, "blocks of 0 positions");
  refused([](SelectionRules& r) { r.select.block = 1u << 20; }, "positions in all");
  refused([](SelectionRules& r) { r.select.local = 4; }, "more than the 3 in all");
  refused([](SelectionRules& r) { r.index.stride = 4; }, "rows for some positions only");
  refused([](SelectionRules& r) { r.rows.stride = 4; }, "rows for some positions only");
}

TEST(SelectionRules, AnAttentionReadsASelectionAsItWasMade) {
  const auto refused = [](auto change, const char* text) {
    SelectionRules rules;
    change(rules.attention);
    expect_rule([&] { (void)rules.build(); }, text);
  };
  refused([](AttentionOptions& a) { a.selections = 1; }, "has 2 parts");
  refused([](AttentionOptions& a) { a.selections = 3; }, "3 parts for 2 KV heads");
  refused([](AttentionOptions& a) { a.selected_block = 1; }, "numbers stand for 5 positions");
  refused([](AttentionOptions& a) { a.selected_rest = true; }, "numbers stand for 5 positions");
  refused([](AttentionOptions& a) { a.window = 4; }, "without window and bias");
}

/// Pools of `stride` positions in a window, with a bias of [bias_rows, 6].
Program pooled(uint32_t stride, uint32_t window, uint64_t bias_rows, uint32_t kv_heads = 1,
               bool overlap = false, uint32_t group_stride = 0) {
  ProgramBuilder b;
  CacheGroup raw{1, kv_heads, 6, 6, TENON_TYPE_F32, 16};
  raw.window = window;
  raw.stride = group_stride;
  const uint32_t group = b.cache_group(raw);
  const Slot x = op::embed(b, b.weight("x", Format::F32, 10, uint64_t{6} * kv_heads));
  op::kv_write(b, x, x, group, 0);
  const Slot bias = b.weight("bias", Format::F32, bias_rows, 6);
  const Slot row =
      op::compress(b, bias, {.group = group, .layer = 0, .stride = stride, .overlap = overlap});
  return std::move(b).finish(op::gather_rows(b, row), {4, 4});
}

TEST(SelectionRules, APoolIsWithinItsWindow) {
  EXPECT_NO_THROW((void)pooled(4, 4, 4));
  expect_rule([] { (void)pooled(5, 4, 5); }, "a pool of 5 positions in a window of 4");
  expect_rule([] { (void)pooled(0, 4, 4); }, "a pool of 0 positions");
  expect_rule([] { (void)pooled(4, 4, 3); }, "expected [4, 6]");
  expect_rule([] { (void)pooled(4, 0, 4); }, "for a window of positions");
  expect_rule([] { (void)pooled(4, 4, 4, 2); }, "for a window of positions");
}

TEST(SelectionRules, APoolThatOverlapsIsWithTheOneBeforeInItsWindow) {
  const Program program = pooled(4, 8, 4, 1, true);
  for (const tenon_op& op : program.ops()) {
    if (op.kind != TENON_OP_COMPRESS) continue;
    EXPECT_EQ(program.slots()[op.outputs[0]].columns, 3u);
  }
  expect_rule([] { (void)pooled(4, 7, 4, 1, true); }, "and the pool before it");
  expect_rule([] { (void)pooled(4, 8, 4, 1, true, 4); }, "more than a cache group of pools keeps");
}

/// Attention of two heads of 8 to positions in a window and to pools of 4, with fields for tests to
/// change.
struct PoolRules {
  CacheGroup positions{1, 1, 8, 6, TENON_TYPE_F32, 16, 5, TENON_CACHE_LATENT};
  CacheGroup pools{1, 1, 8, 6, TENON_TYPE_F32, 16, 0, TENON_CACHE_LATENT, 4};
  CacheGroup index{1, 1, 4, 4, TENON_TYPE_F32, 16, 0, TENON_CACHE_LATENT, 4};
  PoolAttentionOptions attention{.heads = 2, .window = 5};
  bool writes_pools = true;

  [[nodiscard]] Program build() const {
    ProgramBuilder b;
    const auto embedded = [&](const char* name, uint64_t columns) {
      return op::embed(b, b.weight(name, Format::F32, 10, columns));
    };
    PoolAttentionOptions options = attention;
    options.group = b.cache_group(positions);
    options.pool_group = b.cache_group(pools);
    const uint32_t index_group = b.cache_group(index);
    op::kv_write(b, embedded("row", 8), kNoSlot, options.group, 0);
    if (writes_pools) op::kv_write(b, embedded("pool", 8), kNoSlot, options.pool_group, 0);
    op::kv_write(b, embedded("index key", 4), kNoSlot, index_group, 0);
    options.selection =
        op::select(b, embedded("index query", 8), embedded("weights", 2), {index_group, 0, 2, 3});
    return std::move(b).finish(
        op::gather_rows(b, op::attention_pools(b, embedded("query", 16), options)), {4, 4});
  }
};

TEST(SelectionRules, AnAttentionToPoolsHasRowsOfOneKind) {
  const Program program = PoolRules{}.build();
  bool found = false;
  for (const tenon_op& op : program.ops()) {
    if (op.kind != TENON_OP_ATTENTION_POOLS) continue;
    found = true;
    EXPECT_EQ(program.slots()[op.outputs[0]].columns, 12u);
  }
  EXPECT_TRUE(found);
  const auto refused = [](auto change, const char* text) {
    PoolRules rules;
    change(rules);
    expect_rule([&] { (void)rules.build(); }, text);
  };
  refused([](PoolRules& r) { r.pools.value_dim = 5; }, "latent rows of one kind");
  refused([](PoolRules& r) { r.pools.type = TENON_TYPE_F16; }, "latent rows of one kind");
  refused([](PoolRules& r) { r.positions.window = 0, r.positions.stride = 4; },
          "one of positions and one of pools");
  refused([](PoolRules& r) { r.pools.stride = 0, r.pools.window = 5; },
          "one of positions and one of pools");
  refused([](PoolRules& r) { r.attention.window = 6; }, "looks back 6 positions");
  refused([](PoolRules& r) { r.attention.window = 0; }, "looks back 0 positions");
  refused([](PoolRules& r) { r.attention.heads = 3; }, "expected 3 heads of 8");
  refused([](PoolRules& r) { r.attention.heads = 0; }, "no head");
  refused([](PoolRules& r) { r.index.stride = 5; }, "a select over a group with stride 4");
  refused([](PoolRules& r) { r.writes_pools = false; }, "is read before it is written");
  refused([](PoolRules& r) { r.index.stride = 0, r.index.window = 5; }, "keeps a window");
}

/// Candidates and rows of their blocks, with fields for tests to change.
struct WithinRules {
  CacheGroup group{1, 1, 4, 4, TENON_TYPE_F32, 16, 0, TENON_CACHE_LATENT, 2};
  CacheGroup other{1, 1, 4, 4, TENON_TYPE_F32, 16, 0, TENON_CACHE_LATENT, 2};
  SelectWithinOptions candidates{.heads = 2, .count = 3, .block = 5};
  SelectWithinOptions within{.heads = 2, .count = 6, .block = 5};
  bool by_select = false;

  [[nodiscard]] Program build() const {
    ProgramBuilder b;
    const auto embedded = [&](const char* name, uint64_t columns) {
      return op::embed(b, b.weight(name, Format::F32, 10, columns));
    };
    SelectWithinOptions first = candidates;
    SelectWithinOptions second = within;
    first.group = b.cache_group(group);
    second.group = b.cache_group(other);
    op::kv_write(b, embedded("key", 4), kNoSlot, first.group, 0);
    op::kv_write(b, embedded("other key", 4), kNoSlot, second.group, 0);
    const Slot query = embedded("query", 8);
    const Slot weights = embedded("weights", 2);
    const Slot found = by_select ? op::select(b, query, weights, {first.group, 0, 2, 3})
                                 : op::select_candidates(b, query, weights, first);
    b.result(op::select_within(b, query, weights, found, second));
    return std::move(b).finish(op::gather_rows(b, query), {4, 4});
  }
};

TEST(SelectionRules, RowsAreChosenOutOfCandidatesOfTheirKind) {
  EXPECT_NO_THROW((void)WithinRules{}.build());
  const auto refused = [](auto change, const char* text) {
    WithinRules rules;
    change(rules);
    expect_rule([&] { (void)rules.build(); }, text);
  };
  refused([](WithinRules& r) { r.candidates.block = 0; }, "blocks of no row");
  refused([](WithinRules& r) { r.within.block = 0; }, "blocks of no row");
  refused([](WithinRules& r) { r.candidates.block = 1u << 20; }, "rows in all");
  refused([](WithinRules& r) { r.candidates.count = 0; }, "outside 1..");
  refused([](WithinRules& r) { r.within.heads = 3; }, "expected 3 heads of 4");
  refused([](WithinRules& r) { r.group.window = 5; }, "keeps a window");
  refused([](WithinRules& r) { r.within.block = 4; }, "no result of a select_candidates");
  refused([](WithinRules& r) { r.other.stride = 3; }, "over a group with stride 3");
  refused([](WithinRules& r) { r.by_select = true; }, "no result of a select_candidates");
}

TEST(SelectionRules, ARoundHasAFormatAndWholeSegments) {
  const auto rounded = [](uint32_t format, uint32_t segment) {
    ProgramBuilder b;
    const Slot x = op::embed(b, b.weight("x", Format::F32, 10, 12));
    return std::move(b).finish(op::gather_rows(b, op::round(b, x, format, segment)), {4, 4});
  };
  EXPECT_NO_THROW((void)rounded(TENON_ROUND_FP4_FP8, 4));
  expect_rule([&] { (void)rounded(3, 4); }, "unknown format");
  expect_rule([&] { (void)rounded(TENON_ROUND_FP8, 5); }, "whole segments of 5");
  expect_rule([&] { (void)rounded(TENON_ROUND_FP8, 0); }, "whole segments of 0");
}

/// Cost of the operation of this kind with cached rows.
std::array<SeenCost, 2> seen_by(const Program& program, uint32_t kind) {
  for (uint32_t i = 0; i < program.ops().size(); ++i) {
    if (program.ops()[i].kind == kind) return op_cost(op_view(program.view(), i)).seen;
  }
  return {};
}

TEST(SelectionRules, IndicesCostWithAllRowsAndAttentionWithTheChosen) {
  const Program pools = PoolRules{}.build();
  const auto index = seen_by(pools, TENON_OP_SELECT);
  EXPECT_EQ(index[0].multiplications, 8u);
  EXPECT_EQ(index[0].most, 0u);
  EXPECT_EQ(index[0].stride, 4u);
  const auto attended = seen_by(pools, TENON_OP_ATTENTION_POOLS);
  EXPECT_EQ(attended[0].multiplications, 2u * (8 + 6));
  EXPECT_EQ(attended[0].most, 5u);
  EXPECT_EQ(attended[1].most, 3u);
  EXPECT_EQ(attended[1].stride, 4u);
  const auto within = seen_by(WithinRules{}.build(), TENON_OP_SELECT_WITHIN);
  EXPECT_EQ(within[0].most, 3u * 5);
  const auto blocks = seen_by(SelectionRules{}.build(), TENON_OP_ATTENTION);
  EXPECT_EQ(blocks[0].most, 3u * 5);
}

}  // namespace
}  // namespace tenon
