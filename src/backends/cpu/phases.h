// What a program becomes on the CPU: a list of phases, each run by all threads with one meeting
// point between them. Plain data; phase_builder.cpp makes it, phase_runner.cpp runs it.
//
//   row phase        row-wise operations, row after row: norm and quantisation share one pass
//   linear phase     all linears that read one slot; a block of output columns goes through
//   everything
//                    that can be done column-wise (bias, head norm, rope, cache write, gate,
//                    residual, quantisation) before it leaves the core
//   attention phase  a tile of tokens and a KV head at a time, or a piece of its positions
//
// A transformer layer is six or seven phases: norm | q, k, v, rope, cache | attention | output,
// residual | norm | gate, up, activation | down, residual.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/backend.h"

namespace tenon::cpu {

/// An operation on rows of slots. kv_write is split in its two halves; quantise is ours.
enum class RowKind : uint32_t { Op, WriteKeys, WriteValues, Quantise };

struct RowOp {
  RowKind kind = RowKind::Op;
  tenon_op op{};                  ///< Op, WriteKeys, WriteValues
  uint32_t slot = TENON_NO_SLOT;  ///< Quantise: what; Write*: the source
};

/// One linear and what follows it column by column. With `second`, the results of two weights go
/// through the gated activation.
struct LinearTask {
  uint32_t weight = TENON_NO_SLOT;
  uint32_t second = TENON_NO_SLOT;  ///< weight of the `up` half of a GLU
  uint32_t bias = TENON_NO_SLOT;
  uint32_t second_bias = TENON_NO_SLOT;
  std::vector<RowOp> chain;           ///< in place, in order
  uint32_t store = TENON_NO_SLOT;     ///< slot the result is written to, if anyone reads it
  uint32_t quantise = TENON_NO_SLOT;  ///< slot whose quantised form the result is, if any reads it
  uint64_t columns = 0;               ///< of the result
  uint64_t block = 0;                 ///< columns of one work item
};

/// Columns that neighbouring work items of one thread are joined to, so that each read of the
/// activations of a long prompt serves several panels.
inline constexpr uint64_t kJoinedColumns = 128;
/// Of the blocks that go through a task at once.
constexpr uint64_t max_width(const LinearTask& task) {
  return task.block < kJoinedColumns ? kJoinedColumns / task.block * task.block : task.block;
}

enum class PhaseKind : uint32_t { Rows, Linear, Attention };

struct Phase {
  PhaseKind kind = PhaseKind::Rows;
  uint32_t row_class = TENON_ROWS_TOKENS;
  std::vector<RowOp> rows;          ///< Rows; after an attention: Quantise only
  uint32_t input = TENON_NO_SLOT;   ///< Linear
  std::vector<LinearTask> tasks;    ///< Linear
  tenon_op attention{};             ///< Attention
  bool quantise_attention = false;  ///< quantise the output, head by head
  uint32_t attention_plan = 0;      ///< Attention: which plan of the step cuts it into work
};

/// What is known of a slot at compile time.
struct SlotInfo {
  tenon_slot slot{};
  bool reads_quantised = false;  ///< some linear wants the 8-bit form
  bool stored = false;           ///< has f32 memory of its own
  int32_t first_phase = -1;      ///< written
  int32_t last_phase = -1;       ///< last read
};

/// Everything derived from a program.
struct PhasePlan {
  std::vector<SlotInfo> slots;
  std::vector<tenon_kv_group> groups;
  std::vector<Phase> phases;
  uint32_t output = TENON_NO_SLOT;
  uint32_t max_tokens = 0;
  uint32_t max_outputs = 0;
};

/// Throws std::bad_alloc only: the program was checked by supports().
PhasePlan build_phases(const tenon_program& program);

}  // namespace tenon::cpu
