#include "media/picture_tiles.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "media/resample.h"

namespace tenon::media {
namespace {

/// The number that each byte of each channel becomes.
using ByteValues = std::array<std::array<float, 256>, 3>;

ByteValues byte_values(const PictureRules& rules) {
  ByteValues values{};
  for (size_t c = 0; c < values.size(); ++c) {
    for (size_t byte = 0; byte < 256; ++byte) {
      values[c][byte] = (static_cast<float>(byte) / 255.0F - rules.mean[c]) / rules.deviation[c];
    }
  }
  return values;
}

}  // namespace

PictureTiles::PictureTiles(const std::shared_ptr<System>& system, RgbView picture,
                           const PicturePlan& plan, const PictureRules& rules)
    : values_(system, plan.num_values() * sizeof(float), "the tiles of a picture") {
  const ByteValues byte_value = byte_values(rules);
  // Each resized picture is kept until its last reader is done.
  std::vector<RgbPicture> resized(plan.resizes.size());
  auto* to = reinterpret_cast<float*>(values_.data());
  offsets_.push_back(0);
  for (const TilePlan& tile : plan.tiles) {
    for (size_t i = 0; i <= tile.resize; ++i) {
      if (resized[i].size().width != 0) continue;
      const ResizePlan& resize_plan = plan.resizes[i];
      const bool is_first = resize_plan.from == ResizePlan::kPicture;
      resized[i] = resize(system, is_first ? picture : resized[resize_plan.from].view(),
                          resize_plan.size, rules.filter);
    }
    const RgbPicture& from = resized[tile.resize];
    if (tile.x + tile.size.width > from.size().width ||
        tile.y + tile.size.height > from.size().height) {
      fail(Code::Internal, "a tile lies outside its picture");
    }
    for (uint64_t y = 0; y < tile.size.height; ++y) {
      const uint8_t* row = from.row(tile.y + y) + 3 * tile.x;
      for (uint64_t x = 0; x < tile.size.width; ++x) {
        to[0] = byte_value[0][row[0]];
        to[1] = byte_value[1][row[1]];
        to[2] = byte_value[2][row[2]];
        to += 3;
        row += 3;
      }
    }
    offsets_.push_back(offsets_.back() + tile.size.pixels() * 3);
  }
}

std::vector<GridPosition> grid_positions(uint64_t rows, uint64_t columns, uint64_t start) {
  std::vector<GridPosition> positions;
  positions.reserve(rows * columns);
  for (uint64_t row = 0; row < rows; ++row) {
    for (uint64_t column = 0; column < columns; ++column) {
      positions.push_back({start, start + row, start + column});
    }
  }
  return positions;
}

uint64_t position_after_grid(uint64_t rows, uint64_t columns, uint64_t start) {
  return start + std::max(rows, columns);
}

}  // namespace tenon::media
