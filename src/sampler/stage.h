// Interface of a sampler in the chain, and the list of all samplers. Each has a file of its name;
// to add a sampler, write the file and list it in chain.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sampler/candidates.h"
#include "sampler/parameters.h"

namespace tenon {

/// Values of all parameters of the chain, by name.
class SamplerValues {
 public:
  /// Initial value of every parameter.
  SamplerValues();

  /// Value of a parameter of the chain. Throws Internal for a name that no sampler declares.
  [[nodiscard]] int64_t integer(std::string_view name) const;
  [[nodiscard]] double real(std::string_view name) const;

  /// Sets a parameter. Integers convert to real parameters, whole numbers to integer ones. Throws
  /// Argument naming parameter, value and range, or the nearest name for an unknown parameter.
  void set(std::string_view name, int64_t value);
  void set(std::string_view name, double value);

 private:
  std::vector<ParameterValue> values_;  // in the order of the chain's parameters
};

/// A number added to the logit of a token; -inf forbids the token.
struct LogitBias {
  int32_t token;
  float bias;
};

/// State that adaptive samplers keep from draw to draw.
struct SamplerMemory {
  std::optional<double> mirostat_surprise;  ///< upper bound of surprise, in bits
  double adaptive_sum = 0.0;                ///< decayed sum of the probabilities of drawn tokens
  double adaptive_weight = 0.0;             ///< weight of adaptive_sum; 0 before the first draw
};

/// Inputs of a draw besides the logits.
struct SamplerInput {
  const SamplerValues& values;
  std::span<const LogitBias> logit_bias;       ///< unique tokens in ascending order
  std::span<const int32_t> history;            ///< tokens of the sequence so far, oldest first
  uint64_t position;                           ///< position of the token to draw
  std::span<const int32_t> dry_breakers = {};  ///< tokens that end a repetition, ascending
  SamplerMemory* memory = nullptr;             ///< null means that every draw is the first
  std::span<const int32_t> forbidden = {};     ///< tokens excluded from this draw
  uint64_t seed = 0;  ///< seed of the generation; with `position`, the key of the draw
};

/// Number of candidates that a sampler needs, in the order of logits (descending, then by id).
/// Tells whether the largest logits of a row suffice.
struct SamplerReach {
  enum class Kind {
    Nothing,  ///< does nothing with these values
    Some,     ///< lowers logits of at most `count` tokens, looks at no other
    First,    ///< keeps the first `count`, or as many as the logits decide; needs no other
    All,
  } kind;
  uint64_t count = 0;
  static constexpr uint64_t kUnknown = UINT64_MAX;  ///< First: depends on the logits
};

/// A sampler: changes or drops candidates and returns nothing, or ends the chain with a token id.
struct SamplerStage {
  const char* name;
  std::span<const SamplerParameter> parameters;
  std::optional<int32_t> (*apply)(Candidates& candidates, const SamplerInput& input);
  /// True if a drawing device (tenon_draw) gives the same result: it has the sampler, or these
  /// values disable it.
  bool (*is_on_device)(const SamplerValues& values);
  /// Reach for this input. If it is First, `apply` announces the kept candidates
  /// (Candidates::leave_after, leave_below).
  SamplerReach (*reach)(const SamplerInput& input);
};

/// is_on_device for samplers of tenon_draw.
inline bool always_on_device(const SamplerValues&) { return true; }

/// reach for samplers that look at all candidates.
inline SamplerReach all_candidates(const SamplerInput&) { return {SamplerReach::Kind::All}; }
/// reach for samplers that look at all candidates unless their values disable them.
template <bool (*is_idle)(const SamplerValues&)>
SamplerReach all_unless(const SamplerInput& input) {
  return {is_idle(input.values) ? SamplerReach::Kind::Nothing : SamplerReach::Kind::All};
}

/// Samplers in the order of application. The last one always draws.
std::span<const SamplerStage* const> sampler_chain();

/// Calls visit(parameter) for each parameter of the chain, in order.
template <typename Visit>
void for_each_sampler_parameter(Visit visit) {
  for (const SamplerStage* stage : sampler_chain()) {
    for (const SamplerParameter& parameter : stage->parameters) visit(parameter);
  }
}

/// The parameter of this name; null if unknown.
const SamplerParameter* find_sampler_parameter(std::string_view name);

}  // namespace tenon
