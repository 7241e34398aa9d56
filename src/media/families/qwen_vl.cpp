// Qwen2-VL, Qwen2.5-VL, Qwen3-VL and the vision of Qwen3.5 and later: one picture of whole cells
// within limits of pixels.
#include <algorithm>
#include <array>

#include "media/picture_family.h"
#include "media/target_sizes.h"

namespace tenon::media {
namespace {

/// Rows of a picture above which the published limits are lowered.
constexpr uint64_t kQwenMaxRows = 4096;

PicturePlan plan_qwen(Size picture, const PictureRules& rules) {
  PicturePlan plan;
  const Size size = smart_size(picture, rules.cell(), rules.min_pixels, rules.max_pixels);
  plan.resizes.push_back({ResizePlan::kPicture, size});
  add_rows(plan, add_tile(plan, rules, 0, 0, 0, size));
  return plan;
}

void bound_pixels(PictureRules& rules, uint64_t max_rows) {
  const uint64_t cell = rules.cell() * rules.cell();
  rules.max_pixels = std::min(rules.max_pixels, std::max<uint64_t>(1, max_rows) * cell);
  rules.min_pixels = std::min(rules.min_pixels, rules.max_pixels);
}

constexpr std::array<std::string_view, 2> kQwen25Types{"qwen2.5vl_merger", "qwen2vl_merger"};
constexpr std::array<std::string_view, 1> kQwen3Types{"qwen3vl_merger"};

}  // namespace

extern const PictureFamily kQwen25Vl{.name = "qwen2.5vl",
                                     .projector_types = kQwen25Types,
                                     .defaults = {.patch_size = 14,
                                                  .merge = 2,
                                                  .min_pixels = 3136,
                                                  .max_pixels = kQwenMaxRows * 28 * 28,
                                                  .mean = kClipMean,
                                                  .deviation = kClipDeviation},
                                     .placeholder = "<|image_pad|>",
                                     .has_grid_positions = true,
                                     .plan = plan_qwen,
                                     .bound_rows = bound_pixels};

extern const PictureFamily kQwen3Vl{.name = "qwen3vl",
                                    .projector_types = kQwen3Types,
                                    .defaults = {.patch_size = 16,
                                                 .merge = 2,
                                                 .min_pixels = 65536,
                                                 .max_pixels = kQwenMaxRows * 32 * 32},
                                    .placeholder = "<|image_pad|>",
                                    .has_grid_positions = true,
                                    .plan = plan_qwen,
                                    .bound_rows = bound_pixels};

}  // namespace tenon::media
