#include "media/picture_plan.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace tenon::media {

uint64_t PicturePlan::num_rows() const {
  uint64_t rows = 0;
  for (const TilePlan& tile : tiles) rows += tile.rows * tile.columns;
  return rows;
}

uint64_t PicturePlan::num_values() const {
  uint64_t values = 0;
  for (const TilePlan& tile : tiles) values += tile.size.pixels() * 3;
  return values;
}

size_t add_tile(PicturePlan& plan, const PictureRules& rules, size_t resize, uint64_t x, uint64_t y,
                Size size) {
  TilePlan tile;
  tile.resize = resize;
  tile.x = x;
  tile.y = y;
  tile.size = size;
  tile.rows = size.height / rules.cell();
  tile.columns = size.width / rules.cell();
  plan.tiles.push_back(tile);
  return plan.tiles.size() - 1;
}

void add_grid(PicturePlan& plan, const PictureRules& rules, size_t resize, uint64_t side) {
  const Size whole = plan.resizes[resize].size;
  plan.grid_rows = whole.height / side;
  plan.grid_columns = whole.width / side;
  constexpr uint64_t kMaxTiles = 4096;
  if (plan.grid_rows > kMaxTiles / std::max<uint64_t>(plan.grid_columns, 1)) {
    fail(Code::Limit, "a picture of {} x {} tiles; the limit is {} in all", plan.grid_columns,
         plan.grid_rows, kMaxTiles);
  }
  for (uint64_t y = 0; y < plan.grid_rows; ++y) {
    for (uint64_t x = 0; x < plan.grid_columns; ++x) {
      add_tile(plan, rules, resize, x * side, y * side, {side, side});
    }
  }
}

void add_text(PicturePlan& plan, std::string text) {
  PromptPart part;
  part.text = std::move(text);
  plan.prompt.push_back(std::move(part));
}

void add_rows(PicturePlan& plan, size_t tile) {
  PromptPart part;
  part.tile = tile;
  part.num_rows = plan.tiles[tile].rows * plan.tiles[tile].columns;
  plan.prompt.push_back(std::move(part));
}

}  // namespace tenon::media
