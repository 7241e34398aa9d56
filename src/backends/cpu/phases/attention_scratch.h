// How much scratch memory a thread takes for the attention and the selects of a plan.
#pragma once

#include <cstdint>
#include <span>

#include "backends/cpu/phases/attention_plan.h"
#include "backends/cpu/phases/phases.h"

namespace tenon::cpu {

struct AttentionScratch {
  uint64_t floats = 0;      ///< of the kernels
  uint64_t candidates = 0;  ///< of a select: two for each position that it gives
  uint64_t areas = 0;       ///< of cache blocks, where rows that were chosen lie side by side
  uint64_t area_bytes = 0;  ///< of these together
};

/// What the most demanding phase takes.
///   groups  of the program
AttentionScratch attention_scratch(const PhasePlan& plan, std::span<const tenon_cache_group> groups,
                                   std::span<const AttentionPlan> attention_plans);

/// Floats that a thread takes for the part results of an attention_pools, the most demanding one, of a
/// sequence that has `end` positions after the step.
uint64_t pool_partial_floats(const PhasePlan& plan, std::span<const tenon_cache_group> groups,
                             uint64_t end);

}  // namespace tenon::cpu
