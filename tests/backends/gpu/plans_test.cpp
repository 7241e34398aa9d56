// Barriers only between stages that need them; parts of memory without overlap.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "backends/gpu/cache_layout.h"
#include "backends/gpu/chunk_plan.h"
#include "backends/gpu/hazards.h"

namespace tenon::gpu {
namespace {

using testing::ElementsAre;
using Extents = std::vector<Extent>;

TEST(Hazards, StagesThatOnlyReadTheSameNeedNoBarrier) {
  Hazards hazards;
  EXPECT_FALSE(hazards.needs_barrier(Extents{{0, 10}}, Extents{{100, 110}}));
  EXPECT_FALSE(hazards.needs_barrier(Extents{{0, 10}}, Extents{{110, 120}}));
}

TEST(Hazards, WhatWasWrittenIsReadAfterABarrier) {
  Hazards hazards;
  EXPECT_FALSE(hazards.needs_barrier({}, Extents{{100, 110}}));
  EXPECT_TRUE(hazards.needs_barrier(Extents{{109, 112}}, Extents{{200, 210}}));
  // The barrier covers all earlier stages.
  EXPECT_FALSE(hazards.needs_barrier(Extents{{100, 110}}, Extents{{300, 310}}));
}

TEST(Hazards, WhatWasReadOrWrittenIsWrittenAfterABarrier) {
  Hazards read;
  EXPECT_FALSE(read.needs_barrier(Extents{{0, 10}}, Extents{{100, 110}}));
  EXPECT_TRUE(read.needs_barrier({}, Extents{{5, 6}}));
  Hazards written;
  EXPECT_FALSE(written.needs_barrier({}, Extents{{100, 110}}));
  EXPECT_TRUE(written.needs_barrier({}, Extents{{105, 106}}));
}

TEST(Hazards, NeighboursDoNotOverlap) {
  Hazards hazards;
  EXPECT_FALSE(hazards.needs_barrier({}, Extents{{100, 110}}));
  EXPECT_FALSE(hazards.needs_barrier(Extents{{90, 100}}, Extents{{110, 120}}));
}

TEST(ChunkPlan, PartsFollowOneAnotherInChunksOfLimitedSize) {
  ChunkPlan plan(1024);
  const auto place = [&](uint64_t bytes) {
    const ChunkPlan::Place at = plan.add(bytes, "part");
    return std::pair(at.chunk, at.offset);
  };
  EXPECT_EQ(place(1), std::pair(0u, uint64_t{0}));
  EXPECT_EQ(place(300), std::pair(0u, uint64_t{256}));
  EXPECT_EQ(place(256), std::pair(0u, uint64_t{768}));  // 300 bytes take two lines
  EXPECT_EQ(place(1), std::pair(1u, uint64_t{0}));
  EXPECT_EQ(place(1024), std::pair(2u, uint64_t{0}));
  EXPECT_THAT(plan.sizes(), ElementsAre(1024, 256, 1024));
}

TEST(ChunkPlan, RefusesWhatFitsNoChunk) {
  ChunkPlan plan(1024);
  EXPECT_THROW(plan.add(1025, "part"), backends::Failure);
  EXPECT_THROW(plan.add(UINT64_MAX, "part"), backends::Failure);
}

tenon_cache_group group_of(uint32_t type, uint32_t key_dim, uint32_t value_dim) {
  return {3, 2, key_dim, value_dim, type, 4, TENON_CACHE_FULL, 0, 0, 0, 0};
}

TEST(CacheLayout, RowsAreWholeWords) {
  EXPECT_EQ(cache_row_bytes(TENON_TYPE_F32, 5), 20u);
  EXPECT_EQ(cache_row_bytes(TENON_TYPE_F16, 5), 12u);
  EXPECT_EQ(cache_row_bytes(TENON_CACHE_INT8, 5), 12u);  // two words of codes, one with the scale
  EXPECT_EQ(cache_row_bytes(TENON_CACHE_Q4, 9), 12u);
}

TEST(CacheLayout, ABlockHasLayersOfHeadsOfKeysAndValues) {
  const tenon_cache_group group = group_of(TENON_TYPE_F16, 6, 4);
  EXPECT_EQ(block_bytes(group), 3u * 2 * 4 * (12 + 8));
  const CacheLayer layer = cache_layer(group, 7, 2);
  EXPECT_EQ(layer.group, 7u);
  EXPECT_EQ(layer.layer_offset, 2u * 2 * 4 * (12 + 8));
  EXPECT_EQ(layer.head_bytes, 4u * (12 + 8));
  EXPECT_EQ(layer.latent, 0u);
}

TEST(CacheLayout, LatentRowsHaveNoValuesAndAStride) {
  tenon_cache_group group = group_of(TENON_TYPE_F32, 6, 4);
  group.kind = TENON_CACHE_LATENT;
  group.kv_heads = 1;
  group.stride = 3;  // of 4 positions at most 2 have a row
  EXPECT_EQ(block_bytes(group), 3u * 2 * 24);
  const CacheLayer layer = cache_layer(group, 0, 1);
  EXPECT_EQ(layer.value_bytes, 0u);
  EXPECT_EQ(layer.rows, 2u);
  EXPECT_EQ(layer.latent, 1u);
}

TEST(CacheLayout, RefusesLayersBeyond32Bits) {
  tenon_cache_group group = group_of(TENON_TYPE_F32, 1u << 20, 1u << 20);
  group.block_tokens = 1u << 12;
  EXPECT_THROW(static_cast<void>(block_bytes(group)), backends::Failure);
}

}  // namespace
}  // namespace tenon::gpu
