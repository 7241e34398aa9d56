// States of sequences. A thread owns values that no other touches, and takes the tokens of the
// sequence in order.

// Addresses of an operation's values: in the block that a sequence reads (0: zeros), and in the
// block that it writes.
struct States {
  Address from;
  Address to;
};

TENON_DEVICE States states_of(Step step, StateLayer state, uint sequence) {
  const uint start =
      Words(step.header.table_starts).at[sequence * step.header.groups + state.group];
  Addresses tables = Addresses(step.header.tables);
  const Address from = tables.at[start];
  return TENON_MAKE(States)(from == 0 ? 0 : from + state.offset,
                            tables.at[start + 1] + state.offset);
}

// Copies value `place` as it was before the step to the block that is written.
TENON_DEVICE void begin_state(States states, uint place) {
  if (states.from == states.to) return;
  Floats(states.to).at[place] = states.from == 0 ? 0 : Floats(states.from).at[place];
}
