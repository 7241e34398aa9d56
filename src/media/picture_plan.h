// What becomes of a picture, computed from its size alone: resizes, tiles, rows of the tower, and
// what stands in the prompt. A host can refuse a picture before a byte is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "media/picture_rules.h"
#include "media/pixels.h"

namespace tenon::media {

/// A picture given to the tower: a rectangle of a resized picture.
struct TilePlan {
  size_t resize = 0;  ///< index in PicturePlan::resizes
  uint64_t x = 0;
  uint64_t y = 0;
  Size size;
  uint64_t rows = 0;  ///< of the tower's output: a grid of `rows` x `columns` in reading order
  uint64_t columns = 0;
  bool is_overview = false;  ///< the whole picture beside its tiles
};

/// A resize of the picture itself, or of an earlier result.
struct ResizePlan {
  static constexpr size_t kPicture = SIZE_MAX;
  size_t from = kPicture;
  Size size;
};

/// A piece of the prompt: control tokens and line ends as text, or rows of a tile.
struct PromptPart {
  std::string text;  ///< empty: rows
  size_t tile = 0;
  uint64_t first_row = 0;  ///< in the tile's output
  uint64_t num_rows = 0;
};

struct PicturePlan {
  std::vector<ResizePlan> resizes;
  std::vector<TilePlan> tiles;
  uint64_t grid_rows = 1;  ///< tiles, without the overview
  uint64_t grid_columns = 1;
  std::vector<PromptPart> prompt;  ///< what the family's place in the prompt becomes

  /// Rows of all tiles: the places in the prompt that the tower fills.
  [[nodiscard]] uint64_t num_rows() const;
  /// Numbers of all tiles: f32 [height, width, 3] each.
  [[nodiscard]] uint64_t num_values() const;
};

/// Adds a tile of the tower with its grid of rows; returns its index. `size` is whole cells.
size_t add_tile(PicturePlan& plan, const PictureRules& rules, size_t resize, uint64_t x, uint64_t y,
                Size size);
/// Adds tiles of `side` x `side`, row by row, that cut resize number `resize` whole.
void add_grid(PicturePlan& plan, const PictureRules& rules, size_t resize, uint64_t side);
/// Adds to the prompt.
void add_text(PicturePlan& plan, std::string text);
void add_rows(PicturePlan& plan, size_t tile);

}  // namespace tenon::media
