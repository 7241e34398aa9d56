// Selects the heaviest weights that together reach a mass, without a full sort.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon {

/// Cuts the indices 0..n-1, in the total order `before`, after the first whose weights together
/// reach `mass`. Returns the last index kept; at least one is kept. Takes O(n) on average, since
/// each step halves the range of the cut and orders no more.
///   indices  [n] scratch, n >= 1; contents undefined before and after
///   weights  [n] f32, >= 0
template <typename Before>
uint32_t last_within_mass(std::span<uint32_t> indices, std::span<const float> weights, double mass,
                          Before before) {
  size_t low = 0;                // everything before `low` is kept
  size_t high = indices.size();  // the cut is in (low, high]
  double mass_before_low = 0.0;
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    std::nth_element(indices.begin() + static_cast<ptrdiff_t>(low),
                     indices.begin() + static_cast<ptrdiff_t>(middle),
                     indices.begin() + static_cast<ptrdiff_t>(high), before);
    double mass_here = 0.0;
    for (size_t i = low; i < middle; ++i) mass_here += weights[indices[i]];
    if (mass_before_low + mass_here >= mass) {
      high = middle;
    } else {
      low = middle;
      mass_before_low += mass_here;
    }
  }
  return indices[low];
}

}  // namespace tenon
