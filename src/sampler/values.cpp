// Parameter values: looked up by name, checked against the range that the parameter declares.
#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "sampler/stage.h"

namespace tenon {
namespace {

/// Levenshtein distance; names are short.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

[[noreturn]] void fail_unknown(std::string_view name) {
  const std::string_view shown = name.substr(0, 64);
  std::string_view nearest;
  size_t least = SIZE_MAX;
  for_each_sampler_parameter([&](const SamplerParameter& parameter) {
    const size_t distance = edit_distance(shown, parameter.name);
    if (distance < least) {
      least = distance;
      nearest = parameter.name;
    }
  });
  fail(Code::Argument, "sampler: no parameter \"{}\"; the nearest name is \"{}\"", shown, nearest);
}

/// Number of the parameter in the order of the chain, and the parameter; null when unknown.
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
  // Written so that NaN fails.
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
  // Below 2^63 every whole double is an int64_t.
  if (!(std::abs(value) < 0x1p63) || std::trunc(value) != value) {
    fail(Code::Argument, "sampler: {} is {}, not a whole number in {}..{}", parameter->name, value,
         parameter->minimum.integer, parameter->maximum.integer);
  }
  values_[index] = checked_integer(*parameter, static_cast<int64_t>(value));
}

}  // namespace tenon
