// Refusals of state blocks by every backend (numbers outside the pool, no state after tokens), and
// blocks that are not checked.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "backend/device_buffer.h"
#include "base/error.h"
#include "program/operations.h"
#include "tests/conformance/program_runner.h"

namespace tenon::conformance {
namespace {

TEST(State, StepsWithoutTheirBlocksAreRefused) {
  ProgramBuilder builder;
  const uint32_t group = builder.state_group(1, 8);
  const Slot x = builder.input("x", TENON_ROWS_TOKENS, 8);
  builder.result(op::token_shift(builder, x, {group, 0, 0}));
  const Program program = std::move(builder).finish(kNoSlot, {.max_tokens = 8});
  Runner runner(target(), program);
  // The pool has nine blocks.
  const auto run = [&](uint32_t past, uint32_t read, uint32_t write) {
    const DeviceBuffer memory(runner.executable().device(), 9 * runner.executable().block_bytes(0),
                              TENON_MEMORY_CACHE);
    tenon_buffer* const slab = memory.get();
    const uint32_t table[2] = {read, write};
    const uint32_t* tables[1] = {table};
    const tenon_step_sequence sequence{0, 1, past, 0, tables};
    const tenon_cache_pool pool{&slab, 1, 9};
    const int32_t token = 0;
    std::vector<float> in(8), out(8);
    const tenon_binding bindings[2] = {{program.results()[0], 0, out.data()},
                                       {static_cast<uint32_t>(x), 0, in.data()}};
    tenon_step step{};
    step.struct_size = sizeof(step);
    step.num_tokens = step.num_sequences = step.num_pools = 1;
    step.sequence_size = sizeof(sequence);
    step.tokens = step.positions = &token;
    step.sequences = &sequence;
    step.pools = &pool;
    step.bindings = bindings;
    step.num_bindings = 2;
    step.binding_size = sizeof(tenon_binding);
    runner.executable().run(step);
  };
  EXPECT_NO_THROW(run(0, TENON_NO_BLOCK, 8));
  EXPECT_NO_THROW(run(3, 8, 0));
  EXPECT_THROW(run(3, TENON_NO_BLOCK, 0), Error);
  EXPECT_THROW(run(0, TENON_NO_BLOCK, TENON_NO_BLOCK), Error);
  EXPECT_THROW(run(3, 9, 0), Error);
  EXPECT_THROW(run(3, 0, 9), Error);
}

TEST(Step, LooksAtNoTableOfASequenceWithoutTokens) {
  ProgramBuilder builder;
  CacheGroup group;
  group.layers = group.kv_heads = 1;
  group.key_dim = group.value_dim = 16;
  group.type = TENON_TYPE_F32;
  (void)builder.cache_group(group);
  const Slot x = builder.input("x", TENON_ROWS_TOKENS, 16);
  op::kv_write(builder, x, x, 0, 0);
  AttentionOptions attention;
  attention.heads = 1;
  builder.result(op::attention(builder, x, attention));
  const Program program = std::move(builder).finish(kNoSlot, {.max_tokens = 8});
  Runner runner(target(), program);
  const tenon_step_sequence sequence{0, 0, 100, 0, nullptr};
  const tenon_cache_pool pool{nullptr, 0, 1};
  tenon_step step{};
  step.struct_size = sizeof(step);
  step.num_sequences = step.num_pools = 1;
  step.sequence_size = sizeof(sequence);
  step.sequences = &sequence;
  step.pools = &pool;
  step.binding_size = sizeof(tenon_binding);
  EXPECT_NO_THROW(runner.executable().run(step));
}

}  // namespace
}  // namespace tenon::conformance
