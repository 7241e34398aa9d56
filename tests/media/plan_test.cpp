// Rules of families, from files that lie to pictures of any shape.
#include <gmock/gmock.h>

#include "base/error.h"
#include "json/json_tree.h"
#include "media/picture_family.h"
#include "media/picture_tiles.h"
#include "media/target_sizes.h"

namespace tenon::media {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(PictureFamilies, AreFoundByProjectorType) {
  EXPECT_EQ(picture_families().size(), 8U);
  for (const PictureFamily* family : picture_families()) {
    for (const std::string_view type : family->projector_types) {
      EXPECT_EQ(find_picture_family(type), family) << type;
    }
  }
  EXPECT_EQ(find_picture_family("unheard_of"), nullptr);
}

TEST(PictureFamilies, PlanEveryShape) {
  for (const PictureFamily* family : picture_families()) {
    const PictureRules rules = picture_rules(*family, {});
    for (const Size size :
         {Size{1, 1}, Size{1, 200}, Size{201, 1}, Size{1, 201}, Size{32768, 1}, Size{1, 32768},
          Size{13377, 13377}, Size{32768, 5461}, Size{640, 480}}) {
      SCOPED_TRACE(fmt::format("{}: {} x {}", family->name, size.width, size.height));
      try {
        const PicturePlan plan = plan_picture(*family, size, rules);
        ASSERT_FALSE(plan.tiles.empty());
        EXPECT_GT(plan.num_rows(), 0U);
        uint64_t in_prompt = 0;
        for (const PromptPart& part : plan.prompt) in_prompt += part.num_rows;
        EXPECT_EQ(in_prompt, plan.num_rows());
        for (const TilePlan& tile : plan.tiles) {
          EXPECT_LE(tile.x + tile.size.width, plan.resizes[tile.resize].size.width);
          EXPECT_LE(tile.y + tile.size.height, plan.resizes[tile.resize].size.height);
          EXPECT_EQ(tile.size, (Size{tile.columns * rules.cell(), tile.rows * rules.cell()}));
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::Limit) << error.what();
        EXPECT_GT(std::max(size.width, size.height), 200U);
      }
    }
  }
}

TEST(PictureFamilies, BoundRows) {
  for (const PictureFamily* family : picture_families()) {
    if (family->name == "gemma3") continue;  // its square is fixed
    for (const uint64_t most : {400U, 1000U, 3000U}) {
      PictureRules rules = picture_rules(*family, {});
      family->bound_rows(rules, most);
      for (const Size size : {Size{3000, 2000}, Size{500, 3000}, Size{900, 900}}) {
        EXPECT_LE(plan_picture(*family, size, rules).num_rows(), most)
            << family->name << " " << size.width << " x " << size.height;
      }
    }
  }
}

TEST(PictureRulesOfFiles, RefuseWhatNoTowerHas) {
  const PictureFamily& family = *find_picture_family("idefics3");
  const auto with = [&](auto change) {
    PictureKeys keys;
    change(keys);
    return [&family, keys] { picture_rules(family, keys); };
  };
  for (const uint64_t value : {uint64_t{0}, uint64_t{1} << 31, UINT64_MAX}) {
    EXPECT_THAT(with([&](PictureKeys& k) { k.patch_size = value; }),
                ThrowsMessage<Error>(HasSubstr("patch_size")));
    EXPECT_THAT(with([&](PictureKeys& k) { k.merge = value; }),
                ThrowsMessage<Error>(HasSubstr("merge")));
    EXPECT_THAT(with([&](PictureKeys& k) { k.image_size = value; }),
                ThrowsMessage<Error>(HasSubstr("image_size")));
    EXPECT_THAT(with([&](PictureKeys& k) { k.max_pixels = value; }),
                ThrowsMessage<Error>(HasSubstr("image_max_pixels")));
    EXPECT_THAT(with([&](PictureKeys& k) { k.max_tiles = value; }),
                ThrowsMessage<Error>(HasSubstr("preproc_max_tiles")));
  }
  EXPECT_THAT(with([](PictureKeys& k) { k.image_size = 500; }),
              ThrowsMessage<Error>(HasSubstr("whole squares")));
  EXPECT_THAT(with([](PictureKeys& k) {
                k.deviation = {1, 0, 1};
              }),
              ThrowsMessage<Error>(HasSubstr("image_std")));
  EXPECT_THAT(with([](PictureKeys& k) {
                k.mean = {1, NAN, 1};
              }),
              ThrowsMessage<Error>(HasSubstr("image_mean")));
  EXPECT_THAT(with([](PictureKeys& k) {
                k.min_pixels = 9;
                k.max_pixels = 8;
              }),
              ThrowsMessage<Error>(HasSubstr("above image_max_pixels")));
}

TEST(PictureRulesOfFiles, AGivenLimitMovesTheDefaultOfTheOther) {
  const PictureFamily& family = *find_picture_family("qwen3vl_merger");
  PictureKeys keys;
  keys.max_pixels = 4096;
  EXPECT_EQ(picture_rules(family, keys).min_pixels, 4096U);
  keys = {};
  keys.min_pixels = 100'000'000;
  EXPECT_EQ(picture_rules(family, keys).max_pixels, 100'000'000U);
}

TEST(PictureRulesOfFiles, AreReadFromAFolder) {
  const char* text =
      R"({"patch_size": 14, "merge_size": 2, "min_pixels": 3136, "max_pixels": 12845056,
                         "image_mean": [0.1, 0.2, 0.3], "image_std": [1, 2, 3], "min_tiles": null})";
  const PictureKeys keys = read_preprocessor(parse_json_tree(text, "preprocessor_config.json"));
  EXPECT_EQ(keys.patch_size, 14U);
  EXPECT_EQ(keys.merge, 2U);
  EXPECT_EQ(keys.max_pixels, 12845056U);
  EXPECT_FALSE(keys.min_tiles.has_value());
  EXPECT_EQ(keys.mean, (std::array<float, 3>{.1F, .2F, .3F}));
  for (const char* bad : {R"({"patch_size": "14"})", R"({"patch_size": -1})",
                          R"({"image_mean": 3})", R"({"image_mean": [1, 2]})",
                          R"({"image_std": [1, 2, "3"]})", R"({"size": {"height": 1.5}})"}) {
    EXPECT_THAT([&] { read_preprocessor(parse_json_tree(bad, "x")); },
                ThrowsMessage<Error>(HasSubstr("preprocessor_config.json")))
        << bad;
  }
}

TEST(PicturePositions, GoOnAfterTheLongerSide) {
  const auto positions = grid_positions(2, 3, 10);
  EXPECT_EQ(
      positions,
      (std::vector<GridPosition>{
          {10, 10, 10}, {10, 10, 11}, {10, 10, 12}, {10, 11, 10}, {10, 11, 11}, {10, 11, 12}}));
  EXPECT_EQ(position_after_grid(2, 3, 10), 13U);
}

}  // namespace
}  // namespace tenon::media
