// LFM2-VL: one picture within limits of pixels; a much larger one becomes a grid of tiles of
// preproc_size and the picture within the limits.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "media/picture_family.h"
#include "media/target_sizes.h"

namespace tenon::media {
namespace {

/// How many times the limit a picture may be before it is cut into tiles.
constexpr uint64_t kTolerance = 2;

bool is_too_large(Size picture, const PictureRules& rules) {
  const uint64_t cell = rules.cell();
  const auto rounded = [&](uint64_t side) {
    const double cells = std::nearbyint(static_cast<double>(side) / static_cast<double>(cell));
    return std::max(rules.patch_size, static_cast<uint64_t>(cells) * cell);
  };
  return rounded(picture.width) * rounded(picture.height) > rules.max_pixels * kTolerance;
}

PicturePlan plan_lfm2(Size picture, const PictureRules& rules) {
  PicturePlan plan;
  const Size size =
      smart_size(picture, rules.cell(), rules.min_pixels, rules.max_pixels, rules.cell());
  add_text(plan, "<|image_start|>");
  if (rules.max_tiles > 0 && is_too_large(picture, rules)) {
    const uint64_t tile = rules.preproc_size;
    const Size grid = nearest_grid(picture, tile, rules.min_tiles, rules.max_tiles);
    plan.resizes.push_back({ResizePlan::kPicture, {grid.width * tile, grid.height * tile}});
    add_grid(plan, rules, 0, tile);
    for (size_t i = 0; i < plan.tiles.size(); ++i) {
      add_text(plan, fmt::format("<|img_row_{}_col_{}|>", i / plan.grid_columns + 1,
                                 i % plan.grid_columns + 1));
      add_rows(plan, i);
    }
    add_text(plan, "<|img_thumbnail|>");
  }
  plan.resizes.push_back({ResizePlan::kPicture, size});
  const bool has_tiles = !plan.tiles.empty();
  const size_t whole = add_tile(plan, rules, plan.resizes.size() - 1, 0, 0, size);
  plan.tiles[whole].is_overview = has_tiles;
  add_rows(plan, whole);
  add_text(plan, "<|image_end|>");
  return plan;
}

/// Tiles come on top, so both limits share the rows; without room for two tiles there are none.
void bound_both(PictureRules& rules, uint64_t max_rows) {
  const uint64_t cell = rules.cell() * rules.cell();
  rules.max_pixels = std::min(rules.max_pixels, std::max<uint64_t>(1, max_rows) * cell);
  rules.min_pixels = std::min(rules.min_pixels, rules.max_pixels);
  const uint64_t side = rules.preproc_size / rules.cell();
  const uint64_t of_tiles = max_rows - std::min(max_rows, rules.max_pixels / cell);
  const uint64_t tiles = of_tiles / (side * side);
  rules.max_tiles = tiles < 2 ? 0 : std::min(rules.max_tiles, tiles);
  rules.min_tiles = std::min(rules.min_tiles, rules.max_tiles);
}

constexpr std::array<std::string_view, 1> kLfm2Types{"lfm2"};

}  // namespace

extern const PictureFamily kLfm2Vl{.name = "lfm2vl",
                                   .projector_types = kLfm2Types,
                                   .defaults = {.patch_size = 16,
                                                .merge = 2,
                                                .preproc_size = 512,
                                                .min_pixels = 64 * 32 * 32,
                                                .max_pixels = 256 * 32 * 32,
                                                .min_tiles = 2,
                                                .max_tiles = 10,
                                                .filter = Filter::Bilinear},
                                   .tile_side = &PictureRules::preproc_size,
                                   .placeholder = "<image>",
                                   .plan = plan_lfm2,
                                   .bound_rows = bound_both};

}  // namespace tenon::media
