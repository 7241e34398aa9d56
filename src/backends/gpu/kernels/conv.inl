// conv, and token_shift, which filters the preceding row alone: a thread per column of a sequence.

TENON_DEVICE void filter_column(SequenceSpan span, States states, uint c) {
  const uint columns = stage.columns;
  const uint kept = stage.taps - 1;  // rows of the state
  Floats x = Floats(stage.x);
  Floats state = Floats(states.to);
  for (uint i = 0; i < kept; ++i) begin_state(states, i * columns + c);
  for (uint t = span.first_token; t < span.first_token + span.num_tokens; ++t) {
    const float now = x.at[t * columns + c];
    float y;
    if (stage.weight == 0) {
      y = state.at[c];
    } else {
      Floats weight = Floats(stage.weight);
      y = stage.bias == 0 ? 0 : Floats(stage.bias).at[c];
      for (uint i = 0; i < kept; ++i)
        y += weight.at[c * stage.taps + i] * state.at[i * columns + c];
      y += weight.at[c * stage.taps + kept] * now;
    }
    Floats(stage.y).at[t * columns + c] = y;
    for (uint i = 0; i + 1 < kept; ++i) state.at[i * columns + c] = state.at[(i + 1) * columns + c];
    if (kept > 0) state.at[(kept - 1) * columns + c] = now;
  }
}

TENON_DEVICE void run() {
  const uint sequence = group_y();
  Step step = Step(stage.step);
  const SequenceSpan span = Spans(step.header.spans).at[sequence];
  if (span.num_tokens == 0) return;
  const States states = states_of(step, stage.state, sequence);
  for (uint c = global_thread(); c < stage.columns; c += num_groups() * num_threads()) {
    filter_column(span, states, c);
  }
}
