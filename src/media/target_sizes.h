// Sizes that pictures are resized to, as the models' own processors compute them, in f64 with
// rounding half to even.
#pragma once

#include <cstdint>

#include "media/pixels.h"

namespace tenon::media {

/// Both sides rounded to multiples of `cell`, then all made larger or smaller until the pixels are
/// in min_pixels..max_pixels. A side that rounds to 0 counts as `least`. Throws Limit for a picture
/// more than 200 times as long as wide.
Size smart_size(Size picture, uint64_t cell, uint64_t min_pixels, uint64_t max_pixels,
                uint64_t least = 0);

/// The largest size of whole cells, at most `max_cells` of them, that keeps the picture's shape.
Size fitted_size(Size picture, uint64_t max_cells, uint64_t cell);

/// Made smaller until no side exceeds `longest`, then both sides up to whole cells.
Size bounded_size(Size picture, uint64_t longest, uint64_t cell);

/// Grid of tiles, in columns and rows, whose shape is nearest the picture's.
Size nearest_grid(Size picture, uint64_t side, uint64_t min_tiles, uint64_t max_tiles);

}  // namespace tenon::media
