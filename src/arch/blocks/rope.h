// Rotary position embedding as numbers: the angle per position of each pair of a head, after all
// context extensions. The rotation itself is an operation of the program.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/backend.h"

namespace tenon {

/// How a model's positions were stretched after its first training.
enum class RopeScaling : uint32_t {
  None,
  Linear,  ///< every angle divided by `factor`
  Yarn,    ///< slow dimensions divided by `factor`, fast ones left alone, a ramp between
};

/// How a layer rotates its queries and keys. Which values are legal is checked where they are read.
struct RopeSpec {
  uint32_t dimensions = 0;  ///< of each head; the rest is not rotated. Even.
  uint32_t style = TENON_ROPE_ADJACENT;
  double theta = 10000.0;  ///< base of the frequencies
  RopeScaling scaling = RopeScaling::None;
  double factor = 1.0;
  double magnitude = 1.0;  ///< multiplies sine and cosine, besides YaRN's factor
  /// The tensor of the file that divides the frequencies, if it is there.
  std::string_view divisors = "rope_freqs.weight";
  uint32_t num_divisors = 0;  ///< of that tensor, the first of which are used; 0: one for each pair
  /// LongRoPE (Ding et al. 2024, arXiv 2402.13753): the tensor in place of that one where texts may be
  /// longer than `original_context`. Empty: there is none.
  std::string_view long_divisors{};
  /// Numbers of pairs that turn by the second and the third part of a position (height, width),
  /// among those of the first (time): pair i by part i % 3 below 3 times that part's number. All 0:
  /// every pair turns by the first part. Qwen3-VL, arXiv 2511.21631.
  std::array<uint32_t, 2> interleaved_parts{};
  uint32_t original_context = 0;  ///< positions of the first training: of Yarn and LongRoPE
  // Yarn only.
  double extrapolation = 1.0;  ///< how much of the ramp is applied; 0 makes it linear
  double beta_fast = 32.0;     ///< turns over the original context above which nothing is scaled
  double beta_slow = 1.0;      ///< turns below which everything is
  bool whole_pairs = true;     ///< the ramp begins and ends with pairs, not between them
  /// Multiplies sine and cosine in place of 0.1 ln(factor) + 1; 0: that does.
  double attention_factor = 0.0;

  bool operator==(const RopeSpec&) const = default;
  /// The same for positions as they were first trained.
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

/// The constants of the program's rope operations.
struct RopeTable {
  std::vector<double> frequencies;  ///< [dimensions / 2] radians per position
  double magnitude = 1.0;           ///< multiplies sine and cosine
  std::vector<double> parts;        ///< [dimensions / 2] of positions; empty: all the first
};

/// Computes the table.
///   divisors  [dimensions / 2] f32, or empty: each frequency is divided by its number. Llama 3
///             ships its scaling this way, as the tensor rope_freqs.weight.
RopeTable make_rope_table(const RopeSpec& rope, std::span<const float> divisors);

}  // namespace tenon
