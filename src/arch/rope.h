// Rotary position embedding as numbers: the angle per position of each pair of a head, after all
// context extensions. The rotation itself is an operation of the program.
#pragma once

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
  double magnitude = 1.0;  ///< multiplies sine and cosine, besides what YaRN does
  /// The tensor of the file that divides the frequencies, if it is there.
  std::string_view divisors = "rope_freqs.weight";
  // Yarn only.
  uint32_t original_context = 0;  ///< positions of the first training
  double extrapolation = 1.0;     ///< how much of the ramp is applied; 0 makes it linear
  double beta_fast = 32.0;        ///< turns over the original context above which nothing is scaled
  double beta_slow = 1.0;         ///< turns below which everything is

  bool operator==(const RopeSpec&) const = default;
  /// The same for positions as they were first trained.
  [[nodiscard]] RopeSpec unscaled() const {
    RopeSpec plain;
    plain.dimensions = dimensions;
    plain.style = style;
    plain.theta = theta;
    plain.divisors = divisors;
    return plain;
  }
};

/// The constants of the program's rope operations.
struct RopeTable {
  std::vector<double> frequencies;  ///< [dimensions / 2] radians per position
  double magnitude = 1.0;           ///< multiplies sine and cosine
};

/// Computes the table.
///   divisors  [dimensions / 2] f32, or empty: each frequency is divided by its number. Llama 3
///             ships its scaling this way, as the tensor rope_freqs.weight.
RopeTable make_rope_table(const RopeSpec& rope, std::span<const float> divisors);

}  // namespace tenon
