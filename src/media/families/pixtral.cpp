// Pixtral and Mistral Small 3: one picture, its longer side bounded by image_size; a mark after
// each row of the grid.
#include <algorithm>
#include <array>
#include <cmath>

#include "media/picture_family.h"
#include "media/target_sizes.h"

namespace tenon::media {
namespace {

PicturePlan plan_pixtral(Size picture, const PictureRules& rules) {
  PicturePlan plan;
  const Size size = bounded_size(picture, rules.image_size, rules.cell());
  plan.resizes.push_back({ResizePlan::kPicture, size});
  const size_t tile = add_tile(plan, rules, 0, 0, 0, size);
  const TilePlan& grid = plan.tiles[tile];
  for (uint64_t row = 0; row < grid.rows; ++row) {
    plan.prompt.push_back({"", tile, row * grid.columns, grid.columns});
    add_text(plan, row + 1 < grid.rows ? "[IMG_BREAK]" : "[IMG_END]");
  }
  return plan;
}

void bound_side(PictureRules& rules, uint64_t max_rows) {
  const auto side = static_cast<uint64_t>(std::sqrt(static_cast<double>(max_rows)));
  rules.image_size = std::min(rules.image_size, std::max<uint64_t>(1, side) * rules.cell());
}

constexpr std::array<std::string_view, 1> kPixtralTypes{"pixtral"};

}  // namespace

extern const PictureFamily kPixtral{.name = "mistral3",
                                    .projector_types = kPixtralTypes,
                                    .defaults = {.patch_size = 14,
                                                 .merge = 2,
                                                 .image_size = 1540,
                                                 .mean = kClipMean,
                                                 .deviation = kClipDeviation},
                                    .placeholder = "[IMG]",
                                    .plan = plan_pixtral,
                                    .bound_rows = bound_side};

}  // namespace tenon::media
