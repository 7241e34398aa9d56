// InternVL: a grid of square tiles of the nearest shape, and the whole picture as one tile more.
#include <algorithm>
#include <array>

#include "media/picture_family.h"
#include "media/target_sizes.h"

namespace tenon::media {
namespace {

PicturePlan plan_internvl(Size picture, const PictureRules& rules) {
  const uint64_t tile = rules.image_size;
  PicturePlan plan;
  const Size grid = nearest_grid(picture, tile, rules.min_tiles, rules.max_tiles);
  plan.resizes.push_back({ResizePlan::kPicture, {grid.width * tile, grid.height * tile}});
  add_grid(plan, rules, 0, tile);
  if (plan.tiles.size() > 1) {
    plan.resizes.push_back({ResizePlan::kPicture, {tile, tile}});
    const size_t whole = add_tile(plan, rules, 1, 0, 0, {tile, tile});
    plan.tiles[whole].is_overview = true;
  }
  add_text(plan, "<img>");
  for (size_t i = 0; i < plan.tiles.size(); ++i) add_rows(plan, i);
  add_text(plan, "</img>");
  return plan;
}

void bound_tiles(PictureRules& rules, uint64_t max_rows) {
  const uint64_t side = rules.image_size / rules.cell();
  const uint64_t tiles = max_rows / std::max<uint64_t>(1, side * side);
  rules.max_tiles = std::min(rules.max_tiles, tiles > 2 ? tiles - 1 : 1);
  rules.min_tiles = std::min(rules.min_tiles, rules.max_tiles);
}

constexpr std::array<std::string_view, 1> kInternVlTypes{"internvl"};

}  // namespace

extern const PictureFamily kInternVl{.name = "internvl",
                                     .projector_types = kInternVlTypes,
                                     .defaults = {.patch_size = 14,
                                                  .merge = 2,
                                                  .image_size = 448,
                                                  .min_tiles = 1,
                                                  .max_tiles = 12,
                                                  .mean = kImageNetMean,
                                                  .deviation = kImageNetDeviation},
                                     .tile_side = &PictureRules::image_size,
                                     .placeholder = "<IMG_CONTEXT>",
                                     .plan = plan_internvl,
                                     .bound_rows = bound_tiles};

}  // namespace tenon::media
