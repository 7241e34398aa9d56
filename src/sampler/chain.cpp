// The list of samplers, in the order of application.
#include <iterator>

#include "sampler/stage.h"

namespace tenon {

extern const SamplerStage kLogitBiasStage;
extern const SamplerStage kPenaltiesStage;
extern const SamplerStage kDryStage;
extern const SamplerStage kGreedyStage;
extern const SamplerStage kMirostatStage;
extern const SamplerStage kTopNSigmaStage;
extern const SamplerStage kTopKStage;
extern const SamplerStage kTypicalStage;
extern const SamplerStage kTopPStage;
extern const SamplerStage kMinPStage;
extern const SamplerStage kXtcStage;
extern const SamplerStage kTemperatureStage;
extern const SamplerStage kAdaptivePStage;
extern const SamplerStage kDrawStage;

namespace {

// Truncation precedes the temperature. So top-p and its kin judge the model's own distribution, and
// the temperature only affects the choice among the tokens left.
constexpr const SamplerStage* kChain[] = {
    &kLogitBiasStage, &kPenaltiesStage,   &kDryStage,       &kGreedyStage, &kMirostatStage,
    &kTopNSigmaStage, &kTopKStage,        &kTypicalStage,   &kTopPStage,   &kMinPStage,
    &kXtcStage,       &kTemperatureStage, &kAdaptivePStage, &kDrawStage,
};

}  // namespace

std::span<const SamplerStage* const> sampler_chain() { return kChain; }

}  // namespace tenon
