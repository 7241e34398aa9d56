#include "media/target_sizes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace tenon::media {
namespace {

constexpr uint64_t kMaxRatio = 200;

double real(uint64_t value) { return static_cast<double>(value); }
uint64_t down_to_whole(double value) { return static_cast<uint64_t>(std::floor(value)); }
uint64_t up_to_whole(double value) { return static_cast<uint64_t>(std::ceil(value)); }
/// Rounds half to even.
uint64_t nearest_whole(double value) { return static_cast<uint64_t>(std::nearbyint(value)); }
uint64_t whole_cells(uint64_t value, uint64_t cell) { return (value + cell - 1) / cell * cell; }

}  // namespace

Size smart_size(Size picture, uint64_t cell, uint64_t min_pixels, uint64_t max_pixels,
                uint64_t least) {
  const uint64_t w = picture.width;
  const uint64_t h = picture.height;
  if (std::max(w, h) > kMaxRatio * std::min(w, h)) {
    fail(Code::Limit, "the picture is {} x {}; this model takes sides up to {} to 1", w, h,
         kMaxRatio);
  }
  const double side = real(cell);
  Size size{std::max(least, nearest_whole(real(w) / side) * cell),
            std::max(least, nearest_whole(real(h) / side) * cell)};
  if (size.pixels() > max_pixels) {
    const double shrink = std::sqrt(real(w * h) / real(max_pixels));
    return {std::max(cell, down_to_whole(real(w) / shrink / side) * cell),
            std::max(cell, down_to_whole(real(h) / shrink / side) * cell)};
  }
  if (size.pixels() < min_pixels) {
    const double grow = std::sqrt(real(min_pixels) / real(w * h));
    return {up_to_whole(real(w) * grow / side) * cell, up_to_whole(real(h) * grow / side) * cell};
  }
  // Without a minimum a thin picture would have no cell.
  return {std::max(size.width, cell), std::max(size.height, cell)};
}

Size fitted_size(Size picture, uint64_t max_cells, uint64_t cell) {
  const uint64_t w = picture.width;
  const uint64_t h = picture.height;
  const double factor = std::sqrt(real(max_cells * cell * cell) / real(w * h));
  const Size size{down_to_whole(factor * real(w) / real(cell)) * cell,
                  down_to_whole(factor * real(h) / real(cell)) * cell};
  if (size.height == 0) return {std::min(w / h * cell, max_cells * cell), cell};
  if (size.width == 0) return {cell, std::min(h / w * cell, max_cells * cell)};
  return size;
}

Size bounded_size(Size picture, uint64_t longest, uint64_t cell) {
  uint64_t w = picture.width;
  uint64_t h = picture.height;
  const double ratio = real(std::max(w, h)) / real(longest);
  if (ratio > 1) {
    w = std::max<uint64_t>(1, down_to_whole(real(w) / ratio));
    h = std::max<uint64_t>(1, down_to_whole(real(h) / ratio));
  }
  return {whole_cells(w, cell), whole_cells(h, cell)};
}

Size nearest_grid(Size picture, uint64_t side, uint64_t min_tiles, uint64_t max_tiles) {
  Size best{1, 1};
  double least = std::numeric_limits<double>::infinity();
  const double shape = real(picture.width) / real(picture.height);
  for (uint64_t tiles = min_tiles; tiles <= max_tiles; ++tiles) {
    for (uint64_t columns = 1; columns <= tiles; ++columns) {
      if (tiles % columns != 0) continue;
      const uint64_t rows = tiles / columns;
      const double distance = std::abs(shape - real(columns) / real(rows));
      // On a tie more tiles, if the picture fills half of them.
      if (distance < least ||
          (distance == least && real(picture.pixels()) > 0.5 * real(side * side * tiles))) {
        least = distance;
        best = {columns, rows};
      }
    }
  }
  return best;
}

}  // namespace tenon::media
