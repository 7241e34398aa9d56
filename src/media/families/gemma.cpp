// Gemma 3: one square, without regard to the picture's shape. Gemma 4: the picture's shape, as
// large as a budget of rows allows.
#include <algorithm>
#include <array>

#include "media/picture_family.h"
#include "media/target_sizes.h"

namespace tenon::media {
namespace {

PicturePlan plan_gemma3(Size /*picture*/, const PictureRules& rules) {
  PicturePlan plan;
  const Size size{rules.image_size, rules.image_size};
  plan.resizes.push_back({ResizePlan::kPicture, size});
  add_text(plan, "\n\n<start_of_image>");
  add_rows(plan, add_tile(plan, rules, 0, 0, 0, size));
  add_text(plan, "<end_of_image>\n\n");
  return plan;
}

/// The square is fixed.
void keep_rows(PictureRules& /*rules*/, uint64_t /*max_rows*/) {}

PicturePlan plan_gemma4(Size picture, const PictureRules& rules) {
  PicturePlan plan;
  const uint64_t cell = rules.cell();
  const Size size =
      fitted_size(picture, std::max<uint64_t>(1, rules.max_pixels / (cell * cell)), cell);
  plan.resizes.push_back({ResizePlan::kPicture, size});
  add_text(plan, "<|image>");
  add_rows(plan, add_tile(plan, rules, 0, 0, 0, size));
  add_text(plan, "<image|>");
  return plan;
}

/// The model knows budgets of 70, 140, 280, 560 and 1,120 rows.
void bound_budget(PictureRules& rules, uint64_t max_rows) {
  constexpr uint64_t kLeastBudget = 70;
  constexpr uint64_t kMostBudget = 1120;
  const uint64_t cell = rules.cell() * rules.cell();
  uint64_t budget = kMostBudget;
  while (budget > kLeastBudget && budget > max_rows) budget /= 2;
  rules.max_pixels = std::min(rules.max_pixels, budget * cell);
  rules.min_pixels = std::min(rules.min_pixels, rules.max_pixels);
}

constexpr std::array<std::string_view, 1> kGemma3Types{"gemma3"};
constexpr std::array<std::string_view, 1> kGemma4Types{"gemma4v"};

}  // namespace

extern const PictureFamily kGemma3{
    .name = "gemma3",
    .projector_types = kGemma3Types,
    .defaults = {.patch_size = 14, .merge = 4, .image_size = 896, .filter = Filter::Bilinear},
    .tile_side = &PictureRules::image_size,
    .placeholder = "<start_of_image>",
    .plan = plan_gemma3,
    .bound_rows = keep_rows};

extern const PictureFamily kGemma4{.name = "gemma4",
                                   .projector_types = kGemma4Types,
                                   .defaults = {.patch_size = 16,
                                                .merge = 3,
                                                .max_pixels = 280 * 48 * 48,
                                                .mean = {0, 0, 0},
                                                .deviation = {1, 1, 1}},
                                   .placeholder = "<|image|>",
                                   .plan = plan_gemma4,
                                   .bound_rows = bound_budget};

}  // namespace tenon::media
