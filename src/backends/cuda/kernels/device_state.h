// States of sequences: each thread owns values of one that no other touches, and goes through the tokens
// of the sequence in order.
#pragma once

#include "backends/cuda/kernels/device.h"

namespace tenon::cuda {

// The values of an operation in the block that a sequence writes, and in the one that it reads (0: zeros).
struct States {
  Address from;
  Address to;
};

TENON_DEVICE States states_of(Step step, StateLayer state, uint sequence) {
  const uint start =
      Words(step.header.table_starts).at[sequence * step.header.groups + state.group];
  const Addresses tables(step.header.tables);
  const Address from = tables.at[start];
  return {from == 0 ? 0 : from + state.offset, tables.at[start + 1] + state.offset};
}

// Value `place` as it was before the step, where it stays from here on.
TENON_DEVICE void begin_state(States states, uint place) {
  if (states.from == states.to) return;
  Floats(states.to).at[place] = states.from == 0 ? 0 : Floats(states.from).at[place];
}

}  // namespace tenon::cuda
