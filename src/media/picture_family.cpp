#include "media/picture_family.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace tenon::media {

extern const PictureFamily kQwen3Vl;
extern const PictureFamily kQwen25Vl;
extern const PictureFamily kGemma3;
extern const PictureFamily kGemma4;
extern const PictureFamily kPixtral;
extern const PictureFamily kIdefics3;
extern const PictureFamily kInternVl;
extern const PictureFamily kLfm2Vl;

namespace {

constexpr std::array<const PictureFamily*, 8> kFamilies{
    &kQwen3Vl, &kGemma4, &kQwen25Vl, &kGemma3, &kPixtral, &kIdefics3, &kInternVl, &kLfm2Vl,
};

constexpr uint64_t kMaxValues = uint64_t{1} << 28;

}  // namespace

const PictureFamily* find_picture_family(std::string_view projector_type) {
  for (const PictureFamily* family : kFamilies) {
    if (std::ranges::find(family->projector_types, projector_type) !=
        family->projector_types.end()) {
      return family;
    }
  }
  return nullptr;
}

std::span<const PictureFamily* const> picture_families() { return kFamilies; }

PictureRules picture_rules(const PictureFamily& family, const PictureKeys& keys) {
  const PictureRules rules = with_keys(family.defaults, keys);
  if (family.tile_side != nullptr && rules.*family.tile_side % rules.cell() != 0) {
    fail(Code::Format,
         "{}: a tile of {} pixels is not whole squares of {} x {} patches of {} pixels",
         family.name, rules.*family.tile_side, rules.merge, rules.merge, rules.patch_size);
  }
  return rules;
}

PicturePlan plan_picture(const PictureFamily& family, Size picture, const PictureRules& rules) {
  check_picture_size(picture);
  PicturePlan plan = family.plan(picture, rules);
  for (const ResizePlan& resize : plan.resizes) check_picture_size(resize.size);
  if (plan.num_values() > kMaxValues) {
    fail(Code::Limit, "a picture of {} x {} gives the tower {} numbers, the limit is {}",
         picture.width, picture.height, plan.num_values(), kMaxValues);
  }
  return plan;
}

}  // namespace tenon::media
