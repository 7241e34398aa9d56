// Cuts of programs between devices: crossing values, cache groups, order.
#include "program/cut.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "program/operations.h"

namespace tenon {
namespace {

/// Layers of a residual network with a cache: norm, product, write, attention, sum.
struct Layered {
  explicit Layered(uint32_t layers, uint32_t kind = TENON_CACHE_FULL) {
    CacheGroup group;
    group.layers = layers;
    group.kv_heads = 1;
    group.key_dim = group.value_dim = 8;
    if (kind == TENON_CACHE_WINDOW) group.window = 16;
    const uint32_t number = builder.cache_group(group);
    const Slot table = builder.weight("token_embd.weight", Format::F32, 20, 8);
    const Slot angles =
        op::rope_angles(builder, builder.constant("frequencies", std::vector{1.0}), 1.0f);
    Slot x = op::embed(builder, table);
    for (uint32_t layer = 0; layer < layers; ++layer) {
      const std::string prefix = "blk." + std::to_string(layer) + ".";
      const Slot weight = builder.weight(prefix + "q.weight", Format::F32, 8, 8);
      const Slot q =
          op::rope(builder, op::linear(builder, x, weight), angles, TENON_ROPE_HALVES, 8);
      op::kv_write(builder, q, x, number, layer);
      AttentionOptions attention;
      attention.group = number;
      attention.layer = layer;
      attention.heads = 1;
      if (kind == TENON_CACHE_WINDOW) attention.window = 16;
      x = op::add(builder, x, op::attention(builder, q, attention));
    }
    logits = op::linear(builder, op::gather_rows(builder, x), table);
  }
  Program finish() { return std::move(builder).finish(logits, {16, 16}); }

  ProgramBuilder builder;
  Slot logits = kNoSlot;
};

/// [ops] Devices: layers from `second` on are on device 1.
std::vector<uint32_t> two_devices(const Program& program, uint32_t second) {
  std::vector<uint32_t> devices;
  uint32_t layer = 0;
  for (const tenon_op& op : program.ops()) {
    for (uint32_t i = 0; i < op.num_inputs; ++i) {
      const std::string name = program.slots()[op.inputs[i]].name;
      if (name.starts_with("blk.")) layer = static_cast<uint32_t>(std::stoul(name.substr(4)));
    }
    devices.push_back(layer < second ? 0 : 1);
  }
  return devices;
}

uint32_t count_of(const Program& program, uint32_t kind) {
  uint32_t count = 0;
  for (const tenon_op& op : program.ops()) count += op.kind == kind ? 1 : 0;
  return count;
}

uint32_t num_inputs(const Program& program) {
  uint32_t count = 0;
  for (const tenon_slot& slot : program.slots()) count += slot.kind == TENON_SLOT_INPUT ? 1 : 0;
  return count;
}

TEST(Cut, OfOneDeviceIsTheProgram) {
  Program whole = Layered(3).finish();
  const size_t num_ops = whole.ops().size();
  const size_t num_slots = whole.slots().size();
  const CutProgram cut = cut_program(std::move(whole), std::vector<uint32_t>(num_ops, 4));
  ASSERT_EQ(cut.parts.size(), 1u);
  EXPECT_EQ(cut.parts[0].device, 4u);
  EXPECT_EQ(cut.parts[0].program.ops().size(), num_ops);
  EXPECT_EQ(cut.whole.slots().size(), num_slots);
  EXPECT_EQ(cut.group_devices, std::vector<uint32_t>{4});
  EXPECT_EQ(num_inputs(cut.parts[0].program), 0u);
  EXPECT_NE(cut.parts[0].program.view().logits, TENON_NO_SLOT);
}

TEST(Cut, TheHiddenStateCrossesAndNothingElse) {
  Program whole = Layered(4).finish();
  const std::vector<uint32_t> devices = two_devices(whole, 1);
  const CutProgram cut = cut_program(std::move(whole), devices);
  ASSERT_EQ(cut.parts.size(), 2u);
  const ProgramPart& first = cut.parts[0];
  const ProgramPart& second = cut.parts[1];
  ASSERT_EQ(first.program.results().size(), 1u);
  EXPECT_EQ(first.program.view().logits, TENON_NO_SLOT);
  EXPECT_EQ(num_inputs(first.program), 0u);
  ASSERT_EQ(num_inputs(second.program), 1u);
  const uint32_t crossing = first.slots[first.program.results()[0]];
  for (uint32_t i = 0; i < second.slots.size(); ++i) {
    if (second.program.slots()[i].kind != TENON_SLOT_INPUT) continue;
    EXPECT_EQ(second.slots[i], crossing);
    EXPECT_EQ(second.program.slots()[i].columns, 8u);
  }
  // Angles are computed in each part that reads them; both parts have the table.
  EXPECT_EQ(count_of(first.program, TENON_OP_ROPE_ANGLES), 1u);
  EXPECT_EQ(count_of(second.program, TENON_OP_ROPE_ANGLES), 1u);
  EXPECT_EQ(count_of(first.program, TENON_OP_ATTENTION), 1u);
  EXPECT_EQ(count_of(second.program, TENON_OP_ATTENTION), 3u);
}

TEST(Cut, EachDeviceHasAGroupOfItsLayers) {
  for (const uint32_t kind : {TENON_CACHE_FULL, TENON_CACHE_WINDOW}) {
    Program whole = Layered(5, kind).finish();
    const std::vector<uint32_t> devices = two_devices(whole, 2);
    const CutProgram cut = cut_program(std::move(whole), devices);
    ASSERT_EQ(cut.whole.groups().size(), 2u);
    EXPECT_EQ(cut.whole.groups()[0].layers, 2u);
    EXPECT_EQ(cut.whole.groups()[1].layers, 3u);
    EXPECT_EQ(cut.whole.groups()[1].kind, kind);
    EXPECT_EQ(cut.group_devices, (std::vector<uint32_t>{0, 1}));
    EXPECT_EQ(cut.parts[0].groups, std::vector<uint32_t>{0});
    EXPECT_EQ(cut.parts[1].groups, std::vector<uint32_t>{1});
    std::vector<uint32_t> layers;
    for (const tenon_op& op : cut.parts[1].program.ops()) {
      if (op.kind != TENON_OP_ATTENTION) continue;
      EXPECT_EQ(op.params.attention.group, 0u);
      layers.push_back(op.params.attention.layer);
    }
    EXPECT_EQ(layers, (std::vector<uint32_t>{0, 1, 2}));
  }
}

TEST(Cut, PartsOfOneDeviceShareItsGroup) {
  Program whole = Layered(3).finish();
  std::vector<uint32_t> devices = two_devices(whole, 1);
  // The last layer returns to the first device.
  const std::vector<uint32_t> last = two_devices(whole, 2);
  for (size_t op = 0; op < devices.size(); ++op) devices[op] = last[op] == 1 ? 0 : devices[op];
  const CutProgram cut = cut_program(std::move(whole), devices);
  ASSERT_EQ(cut.parts.size(), 3u);
  EXPECT_EQ(cut.parts[0].device, 0u);
  EXPECT_EQ(cut.parts[1].device, 1u);
  EXPECT_EQ(cut.parts[2].device, 0u);
  ASSERT_EQ(cut.whole.groups().size(), 2u);
  EXPECT_EQ(cut.whole.groups()[0].layers, 2u);
  EXPECT_EQ(cut.parts[0].groups, cut.parts[2].groups);
  for (const tenon_op& op : cut.parts[2].program.ops()) {
    if (op.kind != TENON_OP_ATTENTION) continue;
    EXPECT_EQ(op.params.attention.layer, 1u);
  }
}

TEST(Cut, RefusesALayerOfTheCacheOnTwoDevices) {
  Program whole = Layered(2).finish();
  std::vector<uint32_t> devices(whole.ops().size(), 0);
  for (size_t op = 0; op < devices.size(); ++op) {
    if (whole.ops()[op].kind == TENON_OP_ATTENTION) devices[op] = 1;
  }
  EXPECT_THROW((void)cut_program(std::move(whole), devices), Error);
  Program other = Layered(2).finish();
  EXPECT_THROW((void)cut_program(std::move(other), std::vector<uint32_t>(3, 0)), Error);
}

TEST(Cut, TiesAreLayersOfTheCache) {
  const Program whole = Layered(2).finish();
  const std::vector<OpTie> ties = find_ties(whole.view());
  ASSERT_EQ(ties.size(), 2u);
  for (const OpTie& tie : ties) {
    EXPECT_EQ(whole.ops()[tie.first].kind, TENON_OP_KV_WRITE);
    EXPECT_EQ(whole.ops()[tie.second].kind, TENON_OP_ATTENTION);
  }
}

}  // namespace
}  // namespace tenon
