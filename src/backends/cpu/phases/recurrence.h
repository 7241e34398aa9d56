// Turns work items of recurrences (a sequence and some columns or a tile of its state) into calls
// of the state kernels.
#pragma once

#include <algorithm>

#include "backends/cpu/layouts/state_tiles.h"
#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {

/// A chunk of columns or a tile of lanes of a sequence.
struct RecurrentItem {
  const tenon_op& op;
  const tenon_step_sequence& sequence;
  uint32_t sequence_number;
  uint64_t chunk;  ///< index of the chunk or tile
};

/// Values [first, first + count) of the operation's part of the state, and as many in each of
/// `rows` rows `stride` values apart, in the block that the sequence writes. Initialised with the
/// state before the step, or zeros.
float* begin_state(const OpRun& run, const RecurrentItem& item, uint64_t first, uint64_t count,
                   uint64_t rows = 1, uint64_t stride = 0) noexcept;

/// Common arguments of all scans; the tile's lanes begin at column `first_column` of the result.
StateScan begin_scan(const OpRun& run, const RecurrentItem& item, const StateTiles& tiles,
                     const StateTile& tile, uint64_t first_column) noexcept;

/// True if the state is in a STATE group, and all entries that read its transposed table expect it
/// transposed. Plain forms read the rows as loaded.
bool recurrence_fits(const OperationTable& table, const tenon_program& program,
                     const tenon_op& op) noexcept;

/// Columns per work item of conv and token_shift: some microseconds per token, so that narrow ones
/// need no barrier.
inline constexpr uint64_t kItemColumns = 2048;
inline uint64_t item_width(uint64_t columns, uint64_t chunk) noexcept {
  return std::min(kItemColumns, columns - chunk * kItemColumns);
}
inline uint64_t column_chunks(const OpRun& run, const tenon_op& op) noexcept {
  return (run.columns(op.inputs[0]) + kItemColumns - 1) / kItemColumns;
}

/// A phase whose items are the chunks of each sequence.
using ChunksOf = uint64_t (*)(const OpRun& run, const tenon_op& op) noexcept;
using RunChunk = void (*)(OpRun& run, const RecurrentItem& item, uint32_t thread) noexcept;

template <ChunksOf chunks>
uint32_t recurrent_items(const OpRun& run, const Phase& phase) noexcept {
  return static_cast<uint32_t>(run.step().num_sequences * chunks(run, phase.op));
}

template <ChunksOf chunks, RunChunk body>
void run_recurrent(OpRun& run, const Phase& phase, uint32_t item, uint32_t thread) noexcept {
  const uint64_t count = chunks(run, phase.op);
  const auto number = static_cast<uint32_t>(item / count);
  const tenon_step_sequence& sequence = sequences_of(run.step())[number];
  if (sequence.num_tokens == 0) return;
  body(run, {phase.op, sequence, number, item % count}, thread);
}

template <ChunksOf chunks, RunChunk body>
inline constexpr PhaseForm kRecurrentPhase{.items = recurrent_items<chunks>,
                                           .run = run_recurrent<chunks, body>,
                                           .uneven = true,
                                           .small = true};

}  // namespace tenon::cpu
