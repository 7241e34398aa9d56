// Rows of a tower's programs: patches of tiles, what is added to them, squares of patches.
#include <algorithm>
#include <cstring>

#include "arch/towers/tower.h"

namespace tenon {

void lay_patches(const TowerSpec& spec, std::span<const float> tile, uint64_t rows,
                 uint64_t columns, std::span<float> out) {
  const uint64_t side = spec.rules.patch_size;
  float* to = out.data();
  if (spec.form->class_row) to = std::fill_n(to, spec.patch_values(), 0.0f);
  for (uint64_t row = 0; row < rows; ++row) {
    for (uint64_t column = 0; column < columns; ++column) {
      for (uint64_t channel = 0; channel < 3; ++channel) {
        for (uint64_t y = 0; y < side; ++y) {
          const float* from =
              tile.data() + ((row * side + y) * columns * side + column * side) * 3 + channel;
          for (uint64_t x = 0; x < side; ++x) *to++ = from[3 * x];
        }
      }
    }
  }
}

std::vector<float> rows_added(const TowerSpec& spec, const TowerTables& tables, uint64_t rows,
                              uint64_t columns) {
  const TowerForm& form = *spec.form;
  const uint64_t width = spec.width;
  const uint64_t first = form.class_row ? 1 : 0;
  std::vector<float> added((first + rows * columns) * width);
  if (form.positions != nullptr) {
    added = form.positions(spec, tables.positions, rows, columns);
  } else if (!tables.positions.empty()) {
    std::copy_n(tables.positions.begin(), added.size(), added.begin());
  }
  const auto add = [&](std::span<const float> row, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end && !row.empty(); ++i) {
      for (uint64_t k = 0; k < width; ++k) added[i * width + k] += row[k];
    }
  };
  add(tables.class_row, 0, first);
  add(tables.patch_bias, first, first + rows * columns);
  return added;
}

void lay_squares(const TowerSpec& spec, std::span<const float> states, uint64_t rows,
                 uint64_t columns, std::span<float> out) {
  const uint64_t merge = spec.rules.merge;
  const uint64_t width = spec.width;
  const float* patches = states.data() + (spec.form->class_row ? width : 0);
  float* to = out.data();
  for (uint64_t row = 0; row < rows; row += merge) {
    for (uint64_t column = 0; column < columns; column += merge) {
      for (uint64_t i = 0; i < merge * merge; ++i) {
        const float* from = patches + ((row + i / merge) * columns + column + i % merge) * width;
        if (!spec.form->channels_outermost) {
          std::memcpy(to + i * width, from, width * sizeof(float));
          continue;
        }
        for (uint64_t k = 0; k < width; ++k) to[k * merge * merge + i] = from[k];
      }
      to += spec.square_values();
    }
  }
}

}  // namespace tenon
