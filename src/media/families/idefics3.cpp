// Idefics3 and SmolVLM: the picture at preproc_size (its longer side), then up to whole tiles of
// image_size, and the whole of it once more as one tile.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "media/picture_family.h"
#include "media/target_sizes.h"

namespace tenon::media {
namespace {

/// The longer side at `longest`, the other one in proportion and even.
Size scaled_size(Size picture, uint64_t longest) {
  const double ratio = static_cast<double>(picture.width) / static_cast<double>(picture.height);
  const auto even = [](double side) {
    const auto whole = static_cast<uint64_t>(side);
    return std::max<uint64_t>(whole + whole % 2, 1);
  };
  const auto side = static_cast<double>(longest);
  if (picture.width >= picture.height) return {longest, even(side / ratio)};
  return {even(side * ratio), longest};
}

Size whole_tiles(Size size, uint64_t tile) {
  const double ratio = static_cast<double>(size.width) / static_cast<double>(size.height);
  const auto up = [&](uint64_t side) { return std::max((side + tile - 1) / tile * tile, tile); };
  if (size.width >= size.height) {
    const uint64_t width = up(size.width);
    return {width, up(static_cast<uint64_t>(static_cast<double>(width) / ratio))};
  }
  const uint64_t height = up(size.height);
  return {up(static_cast<uint64_t>(static_cast<double>(height) * ratio)), height};
}

PicturePlan plan_idefics3(Size picture, const PictureRules& rules) {
  const uint64_t tile = rules.image_size;
  PicturePlan plan;
  plan.resizes.push_back({ResizePlan::kPicture, scaled_size(picture, rules.preproc_size)});
  plan.resizes.push_back({0, whole_tiles(plan.resizes[0].size, tile)});
  add_grid(plan, rules, 1, tile);
  const std::string mark = "<fake_token_around_image>";
  if (plan.tiles.size() > 1) {
    for (uint64_t row = 0; row < plan.grid_rows; ++row) {
      for (uint64_t column = 0; column < plan.grid_columns; ++column) {
        add_text(plan, fmt::format("{}<row_{}_col_{}>", mark, row + 1, column + 1));
        add_rows(plan, row * plan.grid_columns + column);
      }
      add_text(plan, "\n");
    }
    plan.resizes.push_back({1, {tile, tile}});
    const size_t whole = add_tile(plan, rules, 2, 0, 0, {tile, tile});
    plan.tiles[whole].is_overview = true;
    add_text(plan, "\n");
  }
  add_text(plan, mark + "<global-img>");
  add_rows(plan, plan.tiles.size() - 1);
  add_text(plan, mark);
  return plan;
}

/// Tiles have a fixed number of rows; a smaller picture has fewer tiles.
void bound_longest(PictureRules& rules, uint64_t max_rows) {
  const uint64_t side = rules.image_size / rules.cell();
  const uint64_t tiles = max_rows / std::max<uint64_t>(1, side * side);
  const auto along =
      static_cast<uint64_t>(std::sqrt(static_cast<double>(tiles > 1 ? tiles - 1 : 1)));
  rules.preproc_size =
      std::min(rules.preproc_size, std::max<uint64_t>(1, along) * rules.image_size);
}

constexpr std::array<std::string_view, 1> kIdefics3Types{"idefics3"};

}  // namespace

extern const PictureFamily kIdefics3{.name = "smolvlm",
                                     .projector_types = kIdefics3Types,
                                     .defaults = {.patch_size = 16,
                                                  .merge = 4,
                                                  .image_size = 512,
                                                  .preproc_size = 2048,
                                                  .filter = Filter::Lanczos},
                                     .tile_side = &PictureRules::image_size,
                                     .placeholder = "<image>",
                                     .plan = plan_idefics3,
                                     .bound_rows = bound_longest};

}  // namespace tenon::media
