// Specifications by type, and a block that only this test knows: its mixer, caches, states and
// slots for later layers.
#include "arch/block_specs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "arch/architectures.h"
#include "file/open.h"
#include "program/operations.h"
#include "tests/base/expect_error.h"
#include "tests/engine/tiny_model.h"

namespace tenon {
namespace {

using testing::HasSubstr;

struct PlainSpec {
  int number = 0;
};
struct ReferringSpec {
  bool reads_other = false;
  [[nodiscard]] bool refers() const { return reads_other; }
};

TEST(BlockSpecs, KeepOneOfEachType) {
  BlockSpecs specs;
  EXPECT_EQ(specs.find<PlainSpec>(), nullptr);
  specs.set(PlainSpec{3});
  specs.set(ReferringSpec{});
  const PlainSpec& placed = specs.set(PlainSpec{4});
  EXPECT_EQ(&placed, specs.find<PlainSpec>());
  EXPECT_EQ(specs.end() - specs.begin(), 2);
  EXPECT_EQ(specs.get<PlainSpec>().number, 4);
  BlockSpecs copy = specs;
  copy.get<PlainSpec>().number = 5;
  EXPECT_EQ(specs.get<PlainSpec>().number, 4);
  expect_error(Code::Internal, HasSubstr("is missing"),
               [] { (void)BlockSpecs().get<PlainSpec>(); });
}

struct OwningSpec {
  std::shared_ptr<int> owned;
};

TEST(BlockSpecs, CopyAndDestroyWhatIsMoreThanBytes) {
  const auto owned = std::make_shared<int>(7);
  BlockSpecs specs;
  specs.set(PlainSpec{});
  specs.set(OwningSpec{owned});
  EXPECT_EQ(owned.use_count(), 2);
  BlockSpecs copy = specs;
  EXPECT_EQ(owned.use_count(), 3);
  EXPECT_EQ(copy.get<OwningSpec>().owned, owned);
  specs = std::move(copy);
  EXPECT_EQ(owned.use_count(), 2);
  specs.set(OwningSpec{});
  EXPECT_EQ(owned.use_count(), 1);
}

TEST(BlockSpecs, TellWhatTheirTypesDo) {
  BlockSpecs specs;
  specs.set(PlainSpec{});
  specs.set(ReferringSpec{});
  EXPECT_FALSE(specs.has_mixer());
  EXPECT_FALSE(specs.refers());
  specs.get<ReferringSpec>().reads_other = true;
  EXPECT_TRUE(specs.refers());
  ModelSpec model;
  model.layers.resize(1);
  EXPECT_TRUE(model.layers_stand_alone());
  EXPECT_FALSE(model.layers[0].has_mixer());
  for (BlockSpecs* in : {&model.specs, &model.layers[0].specs, &model.layers[0].attention.specs}) {
    *in = specs;
    EXPECT_FALSE(model.layers_stand_alone());
    *in = {};
  }
}

/// Adds x from the layer that hands it on, times a factor; keeps caches and states that no
/// operation reads, besides those of attention.
struct ShortcutSpec {
  float factor = 1.0f;
  std::string_view role = "shortcut";

  Slot build(BuildContext& context, uint32_t layer, Slot x) const {
    Slot& handed = context.shared("shortcut");
    if (layer == 0) handed = x;
    EXPECT_EQ(context.cache(layer, role).layer, 0u) << "the second layer shares it";
    EXPECT_EQ(context.state(layer, "first", 2).offset, 2u);
    EXPECT_EQ(context.state(layer, "second", 3).offset, 9u);
    EXPECT_EQ(context.state(layer, "second").layer, layer);
    return op::scale(context.ops, context.wanted_rows(layer, handed), factor);
  }
  void add_caches(BuildContext& context, uint32_t layer) const {
    if (layer == 0) {
      context.add_cache(layer, "shortcut", context.latent_group(8, 4));
    } else {
      context.share_cache(layer, "shortcut", layer - 1);
    }
    context.add_state(layer, "first", 6);
    context.add_state(layer, "second", 4);
  }
};

/// The tiny model with this mixer in both layers.
BuiltProgram with_shortcut(const ShortcutSpec& spec) {
  const auto file = open_model_file(tiny_source({}));
  ModelSpec model = read_model_spec(*file);
  for (LayerSpec& layer : model.layers) layer.specs.set(spec);
  return build_program(*file, model, {});
}

TEST(BlockSpecs, AddAMixerThatNothingElseKnows) {
  const BuiltProgram built = with_shortcut({.factor = 0.375f});
  std::vector<tenon_op> scales;
  for (const tenon_op& op : built.program.ops()) {
    if (op.kind == TENON_OP_SCALE && op.params.scale.factor == 0.375f) scales.push_back(op);
  }
  ASSERT_EQ(scales.size(), 2u);
  const auto groups = built.program.groups();
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].layers, 2u);
  EXPECT_EQ(groups[1].kind, uint32_t{TENON_CACHE_LATENT});
  EXPECT_EQ(groups[1].layers, 1u);
  EXPECT_EQ(groups[1].value_dim, 4u);
  EXPECT_EQ(groups[2].state_values, 10u);
  EXPECT_EQ(groups[2].layers, 2u);
}

TEST(BlockSpecs, CachesThatNobodyDeclaredAreNamed) {
  expect_error(Code::Internal, HasSubstr("layer 0 declares no cache or state \"other\""),
               [] { (void)with_shortcut({.role = "other"}); });
}

}  // namespace
}  // namespace tenon
