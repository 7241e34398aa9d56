// Parameter values: looked up by name, checked against the range that the parameter declares.
#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "base/nearest_name.h"
#include "sampler/stage.h"

namespace tenon {
namespace {

[[noreturn]] void fail_unknown(std::string_view name) {
  NearestName known(name);
  for_each_sampler_parameter(
      [&](const SamplerParameter& parameter) { known.consider(parameter.name); });
  fail(Code::Argument, "sampler: no parameter \"{}\"{}", known.name(), known.hint());
}

/// Index of the parameter in the order of the chain, and the parameter; null if unknown.
std::pair<size_t, const SamplerParameter*> locate(std::string_view name) {
  size_t index = 0;
  for (const SamplerStage* stage : sampler_chain()) {
    for (const SamplerParameter& parameter : stage->parameters) {
      if (name == parameter.name) return {index, &parameter};
      ++index;
    }
  }
  return {0, nullptr};
}

ParameterValue checked_integer(const SamplerParameter& parameter, int64_t value) {
  if (!(value >= parameter.minimum.integer && value <= parameter.maximum.integer)) {
    fail(Code::Argument, "sampler: {} is {}, not in {}..{}", parameter.name, value,
         parameter.minimum.integer, parameter.maximum.integer);
  }
  return {value, 0.0};
}

ParameterValue checked_real(const SamplerParameter& parameter, double value) {
  // This form fails for NaN.
  if (!(value >= parameter.minimum.real && value <= parameter.maximum.real)) {
    fail(Code::Argument, "sampler: {} is {}, not in {}..{}", parameter.name, value,
         parameter.minimum.real, parameter.maximum.real);
  }
  return {0, value};
}

}  // namespace

const SamplerParameter* find_sampler_parameter(std::string_view name) {
  return locate(name).second;
}

SamplerValues::SamplerValues() {
  for_each_sampler_parameter(
      [this](const SamplerParameter& parameter) { values_.push_back(parameter.initial); });
}

int64_t SamplerValues::integer(std::string_view name) const {
  const auto [index, parameter] = locate(name);
  if (parameter == nullptr) fail(Code::Internal, "sampler: undeclared parameter \"{}\"", name);
  return values_[index].integer;
}

double SamplerValues::real(std::string_view name) const {
  const auto [index, parameter] = locate(name);
  if (parameter == nullptr) fail(Code::Internal, "sampler: undeclared parameter \"{}\"", name);
  return values_[index].real;
}

void SamplerValues::set(std::string_view name, int64_t value) {
  const auto [index, parameter] = locate(name);
  if (parameter == nullptr) fail_unknown(name);
  values_[index] = parameter->type == ParameterType::Integer
                       ? checked_integer(*parameter, value)
                       : checked_real(*parameter, static_cast<double>(value));
}

void SamplerValues::set(std::string_view name, double value) {
  const auto [index, parameter] = locate(name);
  if (parameter == nullptr) fail_unknown(name);
  if (parameter->type == ParameterType::Real) {
    values_[index] = checked_real(*parameter, value);
    return;
  }
  // Every whole double below 2^63 is an int64_t.
  if (!(std::abs(value) < 0x1p63) || std::trunc(value) != value) {
    fail(Code::Argument, "sampler: {} is {}, not a whole number in {}..{}", parameter->name, value,
         parameter->minimum.integer, parameter->maximum.integer);
  }
  values_[index] = checked_integer(*parameter, static_cast<int64_t>(value));
}

}  // namespace tenon
