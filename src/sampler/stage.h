// The form of one sampler in the chain, and the list of all. Each sampler stands in a file of its
// own name beside this one; to add one, write the file and name it in chain.cpp.
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

/// The values of all parameters of the chain, by name.
class SamplerValues {
 public:
  /// Every parameter at its initial value.
  SamplerValues();

  /// The value of a parameter of the chain. Throws Internal for a name that no sampler declares.
  [[nodiscard]] int64_t integer(std::string_view name) const;
  [[nodiscard]] double real(std::string_view name) const;

  /// Sets a parameter; an integer is taken for a real one and a whole number for an integer one.
  /// Throws Argument naming the parameter, the value and the range, or the nearest name when there
  /// is no such parameter.
  void set(std::string_view name, int64_t value);
  void set(std::string_view name, double value);

 private:
  std::vector<ParameterValue> values_;  // in the order of the chain's parameters
};

/// Added to the logit of one token; -inf forbids it.
struct LogitBias {
  int32_t token;
  float bias;
};

/// What the samplers that steer themselves keep from one draw to the next.
struct SamplerMemory {
  std::optional<double> mirostat_surprise;  ///< the bound of surprise, in bits
  double adaptive_sum = 0.0;     ///< of the probabilities of drawn tokens, older ones decayed
  double adaptive_weight = 0.0;  ///< of that sum; 0 before the first draw
};

/// What a draw depends on besides the logits.
struct SamplerInput {
  const SamplerValues& values;
  std::span<const LogitBias> logit_bias;       ///< by token, no token twice
  std::span<const int32_t> history;            ///< the tokens of the sequence so far, oldest first
  uint64_t position;                           ///< of the token to be drawn
  std::span<const int32_t> dry_breakers = {};  ///< tokens that end a repetition, ascending
  SamplerMemory* memory = nullptr;             ///< null: every draw is the first
  std::span<const int32_t> forbidden = {};     ///< tokens that this draw may not give
  uint64_t seed = 0;  ///< seed of the generation; with `position`, the key of a draw
};

/// How far into the candidates a sampler looks, in the order of logits: larger ones first, of equal
/// ones the lower token. It says whether the largest logits of a row are enough.
struct SamplerReach {
  enum class Kind {
    Nothing,  ///< with these values it does nothing
    Some,     ///< it lowers logits of at most `count` tokens and looks at no other
    First,    ///< it keeps the first `count`, or so many as it then sees, and needs no other
    All,
  } kind;
  uint64_t count = 0;
  static constexpr uint64_t kUnknown = UINT64_MAX;  ///< First: depends on the logits
};

/// A sampler changes or drops candidates and returns nothing, or ends the chain with a token id.
struct SamplerStage {
  const char* name;
  std::span<const SamplerParameter> parameters;
  std::optional<int32_t> (*apply)(Candidates& candidates, const SamplerInput& input);
  /// Whether a device that draws (tenon_draw) does the same with these values, as it knows the sampler
  /// or the values make it do nothing.
  bool (*is_on_device)(const SamplerValues& values);
  /// For this input. Where it is First, `apply` says which candidates it keeps (Candidates::leave_after,
  /// leave_below).
  SamplerReach (*reach)(const SamplerInput& input);
};

/// is_on_device of the samplers that tenon_draw has.
inline bool always_on_device(const SamplerValues&) { return true; }

/// reach of samplers that look at all candidates.
inline SamplerReach all_candidates(const SamplerInput&) { return {SamplerReach::Kind::All}; }
/// The same where some values make the sampler do nothing.
template <bool (*is_idle)(const SamplerValues&)>
SamplerReach all_unless(const SamplerInput& input) {
  return {is_idle(input.values) ? SamplerReach::Kind::Nothing : SamplerReach::Kind::All};
}

/// The samplers in the order in which they are applied. The last one always draws.
std::span<const SamplerStage* const> sampler_chain();

/// Calls visit(parameter) for each parameter of the chain, in order.
template <typename Visit>
void for_each_sampler_parameter(Visit visit) {
  for (const SamplerStage* stage : sampler_chain()) {
    for (const SamplerParameter& parameter : stage->parameters) visit(parameter);
  }
}

/// The parameter of this name; null when there is none.
const SamplerParameter* find_sampler_parameter(std::string_view name);

}  // namespace tenon
