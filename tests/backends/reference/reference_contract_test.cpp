// The reference backend's side of the plugin ABI: refusals, their status and their sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "program/operations.h"
#include "tests/backends/reference/reference_runner.h"

namespace tenon::testing_reference {
namespace {

using testing::HasSubstr;

const tenon_backend_api& api() { return ReferenceRunner::api(); }

/// embed, linear, kv_write, attention over width 2 and a vocabulary of 3; blocks of 2 positions.
Program sample() {
  ProgramBuilder b;
  const uint32_t group = b.cache_group({1, 1, 2, 2, TENON_TYPE_F32, 2});
  const Slot x = op::embed(b, b.weight("x", Format::F32, 3, 2));
  const Slot y = op::linear(b, x, b.weight("w", Format::F32, 2, 2));
  op::kv_write(b, y, y, group, 0);
  AttentionOptions options;
  options.heads = 1;
  return std::move(b).finish(op::gather_rows(b, op::attention(b, x, options)),
                             {.max_tokens = 4, .max_outputs = 4});
}

const Weights kWeights = {{"x", {1, 2, 3, 4, 5, 6}}, {"w", {1, 0, 0, 1}}};

TEST(ReferenceEntry, DeclinesAnotherMajor) {
  EXPECT_EQ(tenon_reference_backend_entry(TENON_BACKEND_MAJOR + 1, 0), nullptr);
  EXPECT_NE(tenon_reference_backend_entry(TENON_BACKEND_MAJOR, 99), nullptr);
}

TEST(ReferenceDevice, RefusesOptionsAndOldHosts) {
  FakeHost host;
  tenon_device* device = nullptr;
  const tenon_backend_option option = {"speed", "11"};
  EXPECT_EQ(api().create_device(host.table(), 0, &option, 1, &device), TENON_BACKEND_ARGUMENT);
  EXPECT_THAT(host.error, HasSubstr("unknown option \"speed\""));
  const tenon_backend_option no_key = {nullptr, "11"};
  const tenon_backend_option no_value = {"speed", nullptr};
  for (const tenon_backend_option& half : {no_key, no_value}) {
    EXPECT_EQ(api().create_device(host.table(), 0, &half, 1, &device), TENON_BACKEND_ARGUMENT);
    EXPECT_THAT(host.error, HasSubstr("lacks its key or its value"));
  }
  EXPECT_EQ(api().create_device(host.table(), 0, nullptr, 1, &device), TENON_BACKEND_ARGUMENT);
  tenon_host old = *host.table();
  old.struct_size = 16;
  EXPECT_EQ(api().create_device(&old, 0, nullptr, 0, &device), TENON_BACKEND_ARGUMENT);
  EXPECT_EQ(api().create_device(nullptr, 0, nullptr, 0, &device), TENON_BACKEND_ARGUMENT);
  EXPECT_EQ(device, nullptr);
}

TEST(ReferenceDevice, DescribeWritesOnlyWhatTheCallerKnows) {
  ReferenceRunner runner(sample(), kWeights);
  tenon_device_info info;
  std::memset(&info, 0x55, sizeof(info));
  info.struct_size = offsetof(tenon_device_info, description);
  ASSERT_EQ(api().describe(runner.device(), &info), TENON_BACKEND_OK);
  EXPECT_STREQ(info.name, "reference");
  EXPECT_EQ(info.struct_size, offsetof(tenon_device_info, description));
  EXPECT_EQ(info.description[0], 0x55);
}

TEST(ReferenceBuffer, RangesAreChecked) {
  ReferenceRunner runner(sample(), kWeights);
  tenon_buffer* buffer = nullptr;
  ASSERT_EQ(api().buffer_create(runner.device(), 8, TENON_MEMORY_CACHE, &buffer), TENON_BACKEND_OK);
  char bytes[9] = "abcdefgh";
  EXPECT_EQ(api().buffer_write(buffer, 1, bytes, 8), TENON_BACKEND_ARGUMENT);
  EXPECT_EQ(api().buffer_write(buffer, UINT64_MAX, bytes, 2), TENON_BACKEND_ARGUMENT);
  EXPECT_EQ(api().buffer_write(buffer, 0, bytes, 8), TENON_BACKEND_OK);
  EXPECT_EQ(api().buffer_copy(buffer, 2, buffer, 0, 6), TENON_BACKEND_OK);
  EXPECT_EQ(api().buffer_copy(buffer, 2, buffer, 0, 7), TENON_BACKEND_ARGUMENT);
  EXPECT_EQ(api().buffer_read(buffer, 9, bytes, 0), TENON_BACKEND_ARGUMENT);
  EXPECT_EQ(api().buffer_read(buffer, 0, bytes, 8), TENON_BACKEND_OK);
  EXPECT_STREQ(bytes, "ababcdef");
  EXPECT_THAT(runner.host().error, HasSubstr("0 bytes at 9 of a buffer of 8"));
  api().buffer_destroy(buffer);
}

TEST(ReferenceCompile, RefusesWhatItCannotRun) {
  const struct {
    const char* text;
    tenon_status status;
    std::function<void(std::vector<tenon_slot>&, std::vector<tenon_op>&, tenon_program&)> damage;
  } kCases[] = {
      {"operation 1 (linear)", TENON_BACKEND_UNSUPPORTED,
       [](auto& slots, auto&, auto&) { slots[2].columns = 3; }},
      {"operation 1 (unknown)", TENON_BACKEND_UNSUPPORTED,
       [](auto&, auto& ops, auto&) { ops[1].kind = 99; }},
      {"operation 3 (attention)", TENON_BACKEND_UNSUPPORTED,
       [](auto&, auto& ops, auto&) { ops[3].params.attention.layer = 1; }},
      {"operation 3 (attention)", TENON_BACKEND_UNSUPPORTED,
       [](auto&, auto& ops, auto&) { ops[3].inputs[0] = 1000; }},
      {"a result is no activation", TENON_BACKEND_ARGUMENT,
       [](auto&, auto&, auto& program) {
         static const uint32_t weight = 0;
         program.results = &weight;
       }},
      {"leaves the planned area", TENON_BACKEND_ARGUMENT,
       [](auto&, auto&, auto& program) { program.activation_bytes -= 64; }},
      {"overflows", TENON_BACKEND_LIMIT,
       [](auto& slots, auto&, auto&) { slots[0].rows = UINT64_MAX / 4; }},
      {"slots are missing", TENON_BACKEND_ARGUMENT,
       [](auto&, auto&, auto& program) { program.slot_size = 8; }},
  };
  ReferenceRunner runner(sample(), kWeights);
  for (const auto& c : kCases) {
    const Program program = sample();
    std::vector<tenon_slot> slots(program.slots().begin(), program.slots().end());
    std::vector<tenon_op> ops(program.ops().begin(), program.ops().end());
    tenon_program view = program.view();
    view.slots = slots.data();
    view.ops = ops.data();
    c.damage(slots, ops, view);
    tenon_executable* executable = nullptr;
    EXPECT_EQ(api().compile(runner.device(), &view, &executable), c.status) << c.text;
    EXPECT_EQ(executable, nullptr);
    EXPECT_THAT(runner.host().error, HasSubstr(c.text));
  }
}

TEST(ReferenceWeights, RowsAreCheckedAndAllNeeded) {
  ReferenceRunner runner(sample(), kWeights);
  const Program program = sample();
  tenon_executable* executable = nullptr;
  ASSERT_EQ(api().compile(runner.device(), &program.view(), &executable), TENON_BACKEND_OK);
  const float rows[6] = {};
  EXPECT_EQ(api().load_rows(executable, 1, 0, 1, rows, 8), TENON_BACKEND_ARGUMENT);  // not a weight
  EXPECT_EQ(api().load_rows(executable, 99, 0, 1, rows, 8), TENON_BACKEND_ARGUMENT);
  EXPECT_EQ(api().load_rows(executable, 0, 2, 2, rows, 16), TENON_BACKEND_ARGUMENT);
  EXPECT_EQ(api().load_rows(executable, 0, UINT64_MAX, 2, rows, 16), TENON_BACKEND_ARGUMENT);
  EXPECT_EQ(api().load_rows(executable, 0, 0, 2, rows, 15), TENON_BACKEND_ARGUMENT);
  EXPECT_EQ(api().load_rows(executable, 0, 0, 2, rows, 16), TENON_BACKEND_OK);
  EXPECT_EQ(api().seal(executable), TENON_BACKEND_STATE);
  EXPECT_THAT(runner.host().error, HasSubstr("weight \"x\": 2 of 3 rows"));
  OwnedStep owned(program.view(), {Part{{0}}}, runner.slab(), ReferenceRunner::kBlocks);
  uint64_t ticket = 0;
  EXPECT_EQ(api().run(executable, &owned.step, &ticket), TENON_BACKEND_STATE);
  // Rows of a sealed one are replaced, under the same rules.
  EXPECT_EQ(api().load_rows(runner.executable(), 0, 0, 3, rows, 24), TENON_BACKEND_OK);
  EXPECT_EQ(api().load_rows(runner.executable(), 0, 2, 2, rows, 16), TENON_BACKEND_ARGUMENT);
  api().destroy_executable(executable);
}

TEST(ReferenceRun, RefusesBrokenSteps) {
  const struct {
    const char* text;
    tenon_status status;
    std::function<void(OwnedStep&)> damage;
  } kCases[] = {
      {"5 tokens", TENON_BACKEND_LIMIT, [](OwnedStep& s) { s.step.num_tokens = 5; }},
      {"token 3 of", TENON_BACKEND_ARGUMENT, [](OwnedStep& s) { s.tokens[1] = 3; }},
      {"token -1 of", TENON_BACKEND_ARGUMENT, [](OwnedStep& s) { s.tokens[0] = -1; }},
      {"output row 3", TENON_BACKEND_ARGUMENT, [](OwnedStep& s) { s.rows[0] = 3; }},
      {"an array", TENON_BACKEND_ARGUMENT, [](OwnedStep& s) { s.step.bindings = nullptr; }},
      {"an array", TENON_BACKEND_ARGUMENT, [](OwnedStep& s) { s.step.num_pools = 0; }},
      {"ends at token 4", TENON_BACKEND_ARGUMENT,
       [](OwnedStep& s) { s.sequences[0].num_tokens = 4; }},
      {"2 of 3 tokens belong", TENON_BACKEND_ARGUMENT,
       [](OwnedStep& s) { s.sequences[0].num_tokens = 2; }},
      {"not in the pool of 8", TENON_BACKEND_ARGUMENT, [](OwnedStep& s) { s.blocks[0][1] = 8; }},
      {"begins at token 1, not at 0", TENON_BACKEND_ARGUMENT,
       [](OwnedStep& s) {
         s.sequences[0].first_token = 1;
         s.sequences[0].num_tokens = 2;
       }},
      {"not in the pool", TENON_BACKEND_ARGUMENT, [](OwnedStep& s) { s.slabs[0] = nullptr; }},
      {"not in the pool", TENON_BACKEND_ARGUMENT,
       [](OwnedStep& s) {
         s.pool.blocks_per_slab = 9;
         s.blocks[0][1] = 8;
       }},
      {"not in the pool", TENON_BACKEND_ARGUMENT, [](OwnedStep& s) { s.tables[0][0] = nullptr; }},
      {"cancelled", TENON_BACKEND_CANCELLED,
       [](OwnedStep& s) {
         static constexpr uint32_t kSet = 1;
         s.step.cancel = &kSet;
       }},
  };
  ReferenceRunner runner(sample(), kWeights);
  const std::vector<float> before = runner.run({Part{{0, 1, 2}}});
  for (const auto& c : kCases) {
    OwnedStep owned(runner.view(), {Part{{0, 1, 2}}}, runner.slab(), ReferenceRunner::kBlocks);
    c.damage(owned);
    uint64_t ticket = 42;
    EXPECT_EQ(runner.run(owned.step, &ticket), c.status) << c.text;
    EXPECT_EQ(ticket, 42u);
    EXPECT_THAT(runner.host().error, HasSubstr(c.text));
    EXPECT_EQ(runner.run({Part{{0, 1, 2}}}), before);
  }
}

TEST(ReferenceRun, EachTicketIsWaitedForOnce) {
  ReferenceRunner runner(sample(), kWeights);
  EXPECT_EQ(api().wait(runner.executable(), 1), TENON_BACKEND_ARGUMENT);
  OwnedStep owned(runner.view(), {Part{{0}}}, runner.slab(), ReferenceRunner::kBlocks);
  uint64_t ticket = 0;
  ASSERT_EQ(runner.run(owned.step, &ticket), TENON_BACKEND_OK);
  uint64_t second = 0;
  EXPECT_EQ(runner.run(owned.step, &second), TENON_BACKEND_STATE);
  EXPECT_EQ(api().wait(runner.executable(), ticket + 1), TENON_BACKEND_ARGUMENT);
  EXPECT_EQ(api().wait(runner.executable(), ticket), TENON_BACKEND_OK);
  EXPECT_EQ(api().wait(runner.executable(), ticket), TENON_BACKEND_ARGUMENT);
  EXPECT_EQ(runner.run(owned.step, &second), TENON_BACKEND_OK);
}

TEST(ReferenceRun, ReadsLargerSequences) {
  ReferenceRunner runner(sample(), kWeights);
  const std::vector<float> expected = runner.run({Part{{0, 1}}, Part{{2}, 0, {3}}});
  OwnedStep owned(runner.view(), {Part{{0, 1}}, Part{{2}, 0, {3}}}, runner.slab(),
                  ReferenceRunner::kBlocks);
  struct LargerSequence {
    tenon_step_sequence sequence;
    uint64_t added;
  };
  const LargerSequence sequences[2] = {{owned.sequences[0], UINT64_MAX},
                                       {owned.sequences[1], UINT64_MAX}};
  owned.step.sequences = &sequences[0].sequence;
  owned.step.sequence_size = sizeof(LargerSequence);
  uint64_t ticket = 0;
  ASSERT_EQ(runner.run(owned.step, &ticket), TENON_BACKEND_OK);
  EXPECT_EQ(owned.results.front(), expected);
}

TEST(ReferenceMemory, CountsWeightsAndScratch) {
  ReferenceRunner runner(sample(), kWeights);
  EXPECT_EQ(api().memory_bytes(runner.executable(), TENON_MEMORY_WEIGHTS), (6 + 4) * 4u);
  EXPECT_GE(api().memory_bytes(runner.executable(), TENON_MEMORY_SCRATCH),
            2 * runner.view().activation_bytes);
  EXPECT_EQ(api().block_bytes(runner.executable(), 0), 2u * 4 * 4);
  EXPECT_EQ(api().block_bytes(runner.executable(), 1), 0u);
}

}  // namespace
}  // namespace tenon::testing_reference
