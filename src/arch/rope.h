// Rotary position embedding as numbers: the angle per position of each pair of a head, after all
// context extensions. The rotation itself is an operation of the program.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon {

/// How a model's positions were stretched after its first training.
enum class RopeScaling : uint32_t {
  None,
  Linear,  ///< every angle divided by `factor`
  Yarn,    ///< slow dimensions divided by `factor`, fast ones left alone, a ramp between
};

/// What a model file says about its rope. Which values are legal is checked where they are read.
struct RopeParameters {
  uint32_t dimensions = 0;  ///< of each head; the rest is not rotated. Even.
  double theta = 10000.0;   ///< base of the frequencies
  RopeScaling scaling = RopeScaling::None;
  double factor = 1.0;
  // Yarn only.
  uint32_t original_context = 0;  ///< positions of the first training
  double attention_factor = 1.0;  ///< multiplies the magnitude
  double extrapolation = 1.0;     ///< how much of the ramp is applied; 0 makes it linear
  double beta_fast = 32.0;        ///< turns over the original context above which nothing is scaled
  double beta_slow = 1.0;         ///< turns below which everything is
};

/// The constants of the program's rope operations.
struct RopeTable {
  std::vector<double> frequencies;  ///< [dimensions / 2] radians per position
  double magnitude = 1.0;           ///< multiplies sine and cosine
};

/// Computes the table.
///   divisors  [dimensions / 2] f32, or empty: each frequency is divided by its number. Llama 3
///   ships
///             its scaling this way, as the tensor rope_freqs.weight.
RopeTable make_rope_table(const RopeParameters& parameters, std::span<const float> divisors);

}  // namespace tenon
