// Index scoring shared by select, select_candidates, select_within and select_blocks. Tokens are
// computed independently, so neighbours, slices and threads change no bit.
#pragma once

#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {

bool select_fits(const OperationTable&, const tenon_program& program, const tenon_op& op) noexcept;

/// Arguments for heads [first_head, first_head + heads) of a token's index query and all its
/// positions; spans are set later.
AttentionArgs index_args(const OpRun& run, const tenon_op& op, uint32_t token, uint32_t first_head,
                         uint32_t heads, uint32_t thread) noexcept;

/// Adds the scratch of an index of `heads` heads that returns `count` numbers.
void count_index(const tenon_cache_group& group, uint32_t heads, uint32_t count, bool gathers,
                 ScratchSizes& sizes);

/// Items of select, select_candidates and select_within: one per token.
uint32_t select_items(const OpRun& run, const Phase& phase) noexcept;
void run_select(OpRun& run, const Phase& phase, uint32_t token, uint32_t thread) noexcept;
void select_scratch(const ScratchContext& context, const Phase& phase, ScratchSizes& sizes);
inline constexpr PhaseForm kSelectPhase{.items = select_items, .run = run_select, .uneven = true};

}  // namespace tenon::cpu
