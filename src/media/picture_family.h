// Families of models by what they make of a picture: one file of src/media/families each, and one
// line of the table in picture_family.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "media/picture_plan.h"

namespace tenon::media {

struct PictureFamily {
  std::string_view name;
  /// `clip.projector_type` of its files.
  std::span<const std::string_view> projector_types;
  PictureRules defaults;
  /// The rule that is the side of its tiles, and so a multiple of cells; null for free sizes.
  uint64_t PictureRules::*tile_side = nullptr;
  /// What stands in a template's text where the picture goes. `plan` says what it becomes.
  std::string_view placeholder;
  /// Rows have three positions (time, row, column), as M-RoPE turns by; else one.
  bool has_grid_positions = false;
  /// Plans a picture of 1..kMaxSide pixels a side under checked rules. Throws Limit.
  PicturePlan (*plan)(Size picture, const PictureRules& rules) = nullptr;
  /// Lowers the limits until no picture has more rows than that, as far as the family can.
  void (*bound_rows)(PictureRules& rules, uint64_t max_rows) = nullptr;
};

/// The family of a projector type; null for a type that none of the families has.
const PictureFamily* find_picture_family(std::string_view projector_type);
/// All of them, for messages and tests.
std::span<const PictureFamily* const> picture_families();

/// Rules of a file. Throws as with_keys, and Format for a tile that is not whole cells.
PictureRules picture_rules(const PictureFamily& family, const PictureKeys& keys);

/// Plans a picture of that size. Throws Limit for its size, or if its tiles exceed 2^28 numbers.
PicturePlan plan_picture(const PictureFamily& family, Size picture, const PictureRules& rules);

}  // namespace tenon::media
