// Description of a sampler parameter as data: name, type, range, default and text. The C ABI and
// the command line derive options from it; sampler files define the parameters.
#pragma once

#include <cstdint>

namespace tenon {

enum class ParameterType : uint32_t { Integer, Real };

/// A number; the parameter's type selects the member.
struct ParameterValue {
  int64_t integer = 0;
  double real = 0.0;
};

struct SamplerParameter {
  const char* name;
  ParameterType type;
  ParameterValue minimum;
  ParameterValue maximum;
  ParameterValue initial;  ///< the value of a new sampler
  const char* doc;         ///< sentence for users, with the disabling value
};

/// Value of the parameter "seed" that requests a random seed per generation.
inline constexpr int64_t kRandomSeed = -1;

constexpr SamplerParameter integer_parameter(const char* name, int64_t minimum, int64_t maximum,
                                             int64_t initial, const char* doc) {
  return {name, ParameterType::Integer, {minimum, 0.0}, {maximum, 0.0}, {initial, 0.0}, doc};
}

constexpr SamplerParameter real_parameter(const char* name, double minimum, double maximum,
                                          double initial, const char* doc) {
  return {name, ParameterType::Real, {0, minimum}, {0, maximum}, {0, initial}, doc};
}

}  // namespace tenon
