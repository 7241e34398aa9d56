// LFM2-VL ("lfm2"): SigLIP2 over pictures of any shape, whose table of positions is resized.
#include <algorithm>
#include <cmath>

#include "arch/towers/tower.h"
#include "program/operations.h"

namespace tenon {
namespace {

/// smart_size() keeps to the limits but for sides that would be less than a cell, and for rounding
/// up from below the lower one.
uint64_t lfm2_patches(const media::PictureRules& rules) {
  constexpr double kLongest = 200;  // times as long as wide
  const auto cell = static_cast<double>(rules.cell());
  const auto least = static_cast<double>(rules.min_pixels);
  const auto most = static_cast<double>(rules.max_pixels);
  const auto tile = static_cast<double>(rules.preproc_size);
  const double sides = std::sqrt(kLongest) + 1 / std::sqrt(kLongest);
  const double pixels = std::max({most, tile * tile, cell * std::sqrt(kLongest * most),
                                  least + cell * std::sqrt(least) * sides + cell * cell});
  return static_cast<uint64_t>(pixels / static_cast<double>(rules.patch_size * rules.patch_size)) +
         1;
}

/// Weights [size, side] of a triangle with antialiasing, half-pixel centres.
std::vector<double> lfm2_axis(uint64_t size, uint64_t side) {
  const double scale = static_cast<double>(side) / static_cast<double>(size);
  const double support = std::max(scale, 1.0);
  std::vector<double> weights(size * side);
  for (uint64_t i = 0; i < size; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto first = static_cast<uint64_t>(std::max(centre - support + 0.5, 0.0));
    const auto end =
        static_cast<uint64_t>(std::min(centre + support + 0.5, static_cast<double>(side)));
    double sum = 0;
    for (uint64_t j = first; j < end; ++j) {
      const double distance = std::abs((static_cast<double>(j) - centre + 0.5) / support);
      sum += weights[i * side + j] = std::max(0.0, 1 - distance);
    }
    for (uint64_t j = first; j < end; ++j) weights[i * side + j] /= sum;
  }
  return weights;
}

/// Rows first, then columns, in f64.
std::vector<float> lfm2_positions(const TowerSpec& spec, std::span<const float> table,
                                  uint64_t rows, uint64_t columns) {
  const uint64_t width = spec.width;
  const auto side =
      static_cast<uint64_t>(std::llround(std::sqrt(static_cast<double>(table.size() / width))));
  const std::vector<double> down = lfm2_axis(rows, side);
  const std::vector<double> across = lfm2_axis(columns, side);
  std::vector<float> result(rows * columns * width);
  std::vector<double> line(side * width);
  for (uint64_t row = 0; row < rows; ++row) {
    std::fill(line.begin(), line.end(), 0.0);
    for (uint64_t i = 0; i < side; ++i) {
      const double weight = down[row * side + i];
      if (weight == 0) continue;
      for (uint64_t k = 0; k < side * width; ++k) line[k] += weight * table[i * side * width + k];
    }
    for (uint64_t column = 0; column < columns; ++column) {
      float* out = result.data() + (row * columns + column) * width;
      for (uint64_t k = 0; k < width; ++k) {
        double sum = 0;
        for (uint64_t j = 0; j < side; ++j) sum += across[column * side + j] * line[j * width + k];
        out[k] = static_cast<float>(sum);
      }
    }
  }
  return result;
}

Slot project_lfm2(TowerBuilder& builder, Slot x) {
  if (builder.has("mm.input_norm")) x = builder.layer_norm(x, "mm.input_norm", 1e-5f);
  x = op::activate(builder.ops(), TENON_ACTIVATION_GELU_ERF, builder.linear(x, "mm.1"));
  return builder.linear(x, "mm.2", builder.spec().text_width);
}

}  // namespace

extern constexpr TowerForm kLfm2Tower{.projector_type = "lfm2",
                                      .activation = TENON_ACTIVATION_GELU_TANH,
                                      .last_norm = "v.post_ln",
                                      .positions = lfm2_positions,
                                      .most_patches = lfm2_patches,
                                      .project = project_lfm2};

}  // namespace tenon
