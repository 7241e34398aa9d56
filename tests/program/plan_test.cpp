// The memory plan: nothing that lives at the same time overlaps, and chains reuse memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "base/error.h"
#include "program/operations.h"

namespace tenon {
namespace {

uint64_t bytes_of(const tenon_slot& slot, const tenon_program& view) {
  const uint64_t rows = slot.row_class == TENON_ROWS_OUTPUTS ? view.max_outputs : view.max_tokens;
  return rows * slot.columns * sizeof(float);
}

/// First and last operation of a slot, found by looking at every operation.
std::pair<uint32_t, uint32_t> lifetime(const Program& program, uint32_t slot) {
  uint32_t first = UINT32_MAX;
  uint32_t last = 0;
  for (uint32_t i = 0; i < program.ops().size(); ++i) {
    const tenon_op& op = program.ops()[i];
    bool touched = op.outputs[0] == slot || op.outputs[1] == slot;
    for (const uint32_t input : op.inputs) touched |= input == slot;
    if (!touched) continue;
    first = std::min(first, i);
    last = i;
  }
  return {first, last};
}

void expect_sound(const Program& program) {
  const tenon_program& view = program.view();
  for (uint32_t a = 0; a < view.num_slots; ++a) {
    const tenon_slot& slot = view.slots[a];
    if (slot.kind != TENON_SLOT_ACTIVATION || a == view.logits) {
      EXPECT_EQ(slot.plan_offset, TENON_NO_PLAN);
      continue;
    }
    EXPECT_EQ(slot.plan_offset % 64, 0u);
    EXPECT_LE(slot.plan_offset + bytes_of(slot, view), view.activation_bytes);
    for (uint32_t b = 0; b < a; ++b) {
      const tenon_slot& other = view.slots[b];
      if (other.plan_offset == TENON_NO_PLAN) continue;
      const auto [first_a, last_a] = lifetime(program, a);
      const auto [first_b, last_b] = lifetime(program, b);
      if (first_a > last_b || first_b > last_a) continue;
      EXPECT_TRUE(slot.plan_offset + bytes_of(slot, view) <= other.plan_offset ||
                  other.plan_offset + bytes_of(other, view) <= slot.plan_offset)
          << slot.name << " and " << other.name;
    }
  }
}

TEST(Plan, RandomProgramsNeverOverlap) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    ProgramBuilder b;
    std::vector<Slot> live = {op::embed(b, b.weight("e", Format::F32, 4, 24))};
    for (int i = 0; i < 40; ++i) {
      const Slot x = live[random() % live.size()];
      const Slot y = live[random() % live.size()];
      live.push_back(random() % 2 == 0 ? op::add(b, x, y) : op::scale(b, x, 2.0f));
    }
    Slot row = op::gather_rows(b, live.back());
    for (int i = 0; i < 3; ++i)
      row = op::add(b, row, op::gather_rows(b, live[random() % live.size()]));
    const Slot logits = op::scale(b, row, 1.0f);
    const StepLimits limits{1 + static_cast<uint32_t>(random() % 9), 3};
    expect_sound(std::move(b).finish(logits, limits));
  }
}

TEST(Plan, AChainUsesTwoAreas) {
  ProgramBuilder b;
  Slot x = op::embed(b, b.weight("e", Format::F32, 4, 16));
  for (int i = 0; i < 30; ++i) x = op::scale(b, x, 2.0f);
  const Program program =
      std::move(b).finish(op::gather_rows(b, x), {.max_tokens = 8, .max_outputs = 8});
  EXPECT_EQ(program.view().activation_bytes, 2u * 8 * 16 * sizeof(float));
}

TEST(Plan, RefusesSizesBeyond64Bits) {
  ProgramBuilder b;
  Slot x = op::embed(b, b.weight("e", Format::F32, 1, uint64_t{1} << 40));
  const Slot logits = op::gather_rows(b, op::scale(b, x, 1.0f));
  try {
    (void)std::move(b).finish(logits, {.max_tokens = 0x80000000u, .max_outputs = 1});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::Limit);
  }
}

}  // namespace
}  // namespace tenon
