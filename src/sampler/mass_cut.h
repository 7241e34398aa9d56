// Cutting a set of weights where the heaviest together reach a mass, without sorting them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon {

/// The numbers 0..n-1, put in the total order `before`, are cut after the first ones whose weights
/// together reach `mass`; returns the last that is kept. At least one is. O(n) on average: the
/// place of the cut is halved, so no more is ordered than the answer needs.
///   indices  [n] room to work in, n >= 1; contents undefined before and after
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
