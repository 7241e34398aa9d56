// Numbers that a tower takes, made of a picture by a plan, and the positions of its rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "media/picture_plan.h"

namespace tenon::media {

/// f32 [height, width, 3] of each tile of a plan, one after the other: (byte / 255 - mean) /
/// deviation, in f32.
class PictureTiles {
 public:
  /// Throws NoMemory, Limit, and Internal for a picture of another size than the plan's.
  PictureTiles(const std::shared_ptr<System>& system, RgbView picture, const PicturePlan& plan,
               const PictureRules& rules);

  [[nodiscard]] std::span<const float> values() const {
    return {reinterpret_cast<const float*>(values_.data()), values_.size() / sizeof(float)};
  }
  [[nodiscard]] std::span<const float> tile(size_t i) const {
    return values().subspan(offsets_[i], offsets_[i + 1] - offsets_[i]);
  }

 private:
  Buffer values_;
  std::vector<uint64_t> offsets_;
};

/// Time, row and column of a row of the tower.
struct GridPosition {
  uint64_t time = 0;
  uint64_t row = 0;
  uint64_t column = 0;
  bool operator==(const GridPosition&) const = default;
};

/// Positions of a grid's rows in reading order, from position `start` on.
std::vector<GridPosition> grid_positions(uint64_t rows, uint64_t columns, uint64_t start);
/// Position of the token after such a grid.
uint64_t position_after_grid(uint64_t rows, uint64_t columns, uint64_t start);

}  // namespace tenon::media
