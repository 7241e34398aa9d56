// Rotary position embedding as numbers: the angle per position of each pair in a head, after all
// context extensions. A program operation does the rotation.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/backend.h"

namespace tenon {

/// Extension of the positions after the first training.
enum class RopeScaling : uint32_t {
  None,
  Linear,  ///< divides every angle by `factor`
  Yarn,    ///< divides slow dimensions by `factor`, keeps fast ones, with a ramp between
};

/// Rotation of a layer's queries and keys. Readers check the ranges.
struct RopeSpec {
  uint32_t dimensions = 0;  ///< rotated values per head, even; the rest is not rotated
  uint32_t style = TENON_ROPE_ADJACENT;
  double theta = 10000.0;  ///< base of the frequencies
  RopeScaling scaling = RopeScaling::None;
  double factor = 1.0;
  double magnitude = 1.0;  ///< multiplies sine and cosine, in addition to YaRN's factor
  /// Tensor of the file that divides the frequencies, if present.
  std::string_view divisors = "rope_freqs.weight";
  /// Values in that tensor, of which the first are used; 0 means one per pair.
  uint32_t num_divisors = 0;
  /// LongRoPE (Ding et al. 2024, arXiv 2402.13753): replaces `divisors` if texts may be longer than
  /// `original_context`. Empty means none.
  std::string_view long_divisors{};
  /// Pairs that turn by the second and the third part of a position (height, width) instead of the
  /// first (time): pair i turns by part i % 3 if i is below 3 times that part's number. All 0 means
  /// that every pair turns by the first part. Qwen3-VL, arXiv 2511.21631.
  std::array<uint32_t, 2> interleaved_parts{};
  uint32_t original_context = 0;  ///< positions of the first training; for Yarn and LongRoPE
  // Yarn only.
  double extrapolation = 1.0;  ///< strength of the ramp; 0 makes the scaling linear
  double beta_fast = 32.0;     ///< turns over the original context above which nothing is scaled
  double beta_slow = 1.0;      ///< turns below which everything is scaled
  bool whole_pairs = true;     ///< rounds the ends of the ramp to pairs
  /// Multiplies sine and cosine instead of 0.1 ln(factor) + 1; 0 means that default.
  double attention_factor = 0.0;

  bool operator==(const RopeSpec&) const = default;
  /// The rotation for positions of the first training.
  [[nodiscard]] RopeSpec unscaled() const {
    RopeSpec plain;
    plain.dimensions = dimensions;
    plain.style = style;
    plain.theta = theta;
    plain.divisors = divisors;
    plain.num_divisors = num_divisors;
    plain.interleaved_parts = interleaved_parts;
    return plain;
  }
};

/// Constants of the program's rope operations.
struct RopeTable {
  std::vector<double> frequencies;  ///< [dimensions / 2] radians per position
  double magnitude = 1.0;           ///< multiplies sine and cosine
  /// [dimensions / 2] part of a position per pair; empty means the first.
  std::vector<double> parts;
};

/// Computes the table.
///   divisors  [dimensions / 2] f32, or empty; divide the frequencies. Llama 3 ships its scaling
///             this way, as the tensor rope_freqs.weight.
RopeTable make_rope_table(const RopeSpec& rope, std::span<const float> divisors);

}  // namespace tenon
