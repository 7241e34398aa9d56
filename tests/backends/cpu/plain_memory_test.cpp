// Plain forms allocate nothing once the largest step has run: this program counts operator new and
// the host's allocations.
#include <gtest/gtest.h>

#include <deque>
#include <functional>

#include "tests/backends/cpu/table_runner.h"
#include "tests/base/counted_new.h"

// The forms of operator new by which memory resources allocate: counted_new.h replaces the others.
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  ++tenon::counted_new::num_allocations;
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(unit, (size + unit - 1) / unit * unit)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace tenon::cpu::plain_memory {
namespace {

constexpr uint32_t kVocab = 130;
constexpr uint32_t kWidth = 16;
constexpr uint32_t kPast = 100;
constexpr uint32_t kEnd = 128;  // positions: a block has 16
constexpr StepLimits kLimits{.max_tokens = kPast, .max_outputs = kPast};

Slot vector_of(ProgramBuilder& b, const char* name, uint64_t columns = kWidth) {
  return b.weight(name, Format::F32, 1, columns);
}
Slot matrix_of(ProgramBuilder& b, const char* name, uint64_t rows, uint64_t columns = kWidth) {
  return b.weight(name, Format::F32, rows, columns);
}
Slot rows_of(ProgramBuilder& b, const char* name, uint64_t columns = kWidth) {
  return op::embed(b, matrix_of(b, name, kVocab, columns));
}
uint32_t positions(ProgramBuilder& b, uint32_t kind) {
  return b.cache_group({1, 1, kWidth, kWidth, TENON_TYPE_F32, 16, 0, kind});
}

Slot attention(ProgramBuilder& b) {
  const uint32_t group = positions(b, TENON_CACHE_FULL);
  const Slot x = op::rms_norm(b, rows_of(b, "x"), vector_of(b, "n"), 1e-5f);
  const Slot y = op::linear(b, x, matrix_of(b, "w", kWidth), vector_of(b, "bias"));
  op::kv_write(b, y, x, group, 0);
  return op::add(b,
                 op::attention(b, y, {.group = group, .heads = 1, .sinks = vector_of(b, "s", 1)}),
                 vector_of(b, "add"));
}

Slot mixture(ProgramBuilder& b, const RouteOptions& options) {
  const Slot x = rows_of(b, "x");
  const Route route = op::moe_route(b, rows_of(b, "logits", 8), options);
  return op::moe_linear(b, x, route, matrix_of(b, "experts", 8 * kWidth),
                        {.experts = 8,
                         .sum = true,
                         .weights = ExpertWeights::Outputs,
                         .bias = matrix_of(b, "bias", 8, kWidth)});
}

Slot mixture_of_groups(ProgramBuilder& b) {
  return mixture(b, {.used = 3,
                     .scoring = TENON_MOE_SIGMOID,
                     .normalise = true,
                     .groups = 4,
                     .groups_used = 2,
                     .selection_bias = vector_of(b, "selection", 8)});
}
Slot mixture_of_chosen(ProgramBuilder& b) { return mixture(b, {.used = 3}); }

Slot scan(ProgramBuilder& b) {
  const uint32_t group = b.state_group(1, 3 * kWidth + 4 * kWidth);
  const Slot x = op::conv(b, rows_of(b, "x"), matrix_of(b, "taps", kWidth, 4), vector_of(b, "bias"),
                          {.group = group});
  return op::ssm_scan(b,
                      {.x = x,
                       .dt = rows_of(b, "dt", 1),
                       .a = matrix_of(b, "a", 1, 1),
                       .b = rows_of(b, "b", 4),
                       .c = rows_of(b, "c", 4),
                       .d = vector_of(b, "d", 1)},
                      {.state = {.group = group, .offset = 3 * kWidth}, .heads = 1, .size = 4});
}

Slot selection(ProgramBuilder& b) {
  const uint32_t group = positions(b, TENON_CACHE_LATENT);
  op::kv_write(b, rows_of(b, "key"), kNoSlot, group, 0);
  const Slot query = rows_of(b, "query", 2 * kWidth);
  const Slot chosen =
      op::select(b, query, rows_of(b, "weights", 2), {.group = group, .heads = 2, .count = 7});
  const Slot blocks =
      op::select_blocks(b, query, {.group = group, .heads = 2, .count = 3, .block = 4});
  b.result(chosen);
  b.result(blocks);
  return rows_of(b, "x");
}

TEST(PlainPhases, AllocateNothingAfterTheLargestStep) {
  const OperationTable none{{}};
  for (const auto build : {attention, mixture_of_groups, mixture_of_chosen, scan, selection}) {
    ProgramBuilder b;
    const Slot out = op::gather_rows(b, build(b));
    const Program program = std::move(b).finish(out, kLimits);
    TableRunner runner(program, none);
    std::deque<testing_reference::OwnedStep> steps;
    for (uint32_t past = kPast; past < kEnd; ++past) {
      steps.emplace_back(program.view(),
                         std::vector<testing_reference::Part>{
                             {.tokens = {static_cast<int32_t>(past)}, .past = past}},
                         runner.slab(), TableRunner::kBlocks);
    }
    const uint64_t at_first = counted_new::num_allocations;
    runner.run(steps.front().step);
    EXPECT_GT(counted_new::num_allocations - at_first, 0u) << "the counter sees lists";
    (void)runner.run(0, kPast);
    for (const auto& owned : steps) runner.run(owned.step);  // contexts grow to their largest
    (void)runner.run(0, kPast);
    const uint64_t before = counted_new::num_allocations;
    runner.host().allocations_left = 0;
    for (const auto& owned : steps) runner.run(owned.step);
    EXPECT_EQ(counted_new::num_allocations - before, 0u);
    EXPECT_EQ(runner.host().num_errors, 0u);
    runner.host().allocations_left = INT64_MAX;
  }
}

/// A text that grows by a token a step: memory grows in few steps, not in each.
TEST(PlainPhases, GrowSeldomWithTheContext) {
  const OperationTable none{{}};
  ProgramBuilder b;
  const Slot out = op::gather_rows(b, attention(b));
  const Program program = std::move(b).finish(out, kLimits);
  TableRunner runner(program, none);
  (void)runner.run(0, 1);
  uint32_t num_grown = 0;
  for (uint32_t past = 1; past < kEnd; ++past) {
    constexpr int64_t kMany = 1000;
    runner.host().allocations_left = kMany;
    (void)runner.run(past, 1);
    num_grown += runner.host().allocations_left != kMany;
  }
  runner.host().allocations_left = INT64_MAX;
  EXPECT_GT(num_grown, 0u);
  EXPECT_LE(num_grown, 16u);
}

}  // namespace
}  // namespace tenon::cpu::plain_memory
