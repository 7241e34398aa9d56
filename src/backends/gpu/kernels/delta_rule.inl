// delta_rule (arXiv 2412.06464, 2510.26692): a thread per column of a head's state [dk, dv].

TENON_DEVICE float kept_share(uint t, uint head, uint i) {
  const uint place = t * stage.value_heads + head;
  const uint at = stage.decay_of_channels != 0 ? place * stage.key_dim + i : place;
  return exp_of(Floats(stage.decay).at[at]);
}

TENON_DEVICE void advance(SequenceSpan span, States states, uint column) {
  const uint head = column / stage.value_dim;
  const uint first = head * stage.key_dim * stage.value_dim + column % stage.value_dim;
  const uint key_head = stage.interleaved != 0 ? head % stage.key_heads
                                               : head / (stage.value_heads / stage.key_heads);
  const uint columns = stage.value_heads * stage.value_dim;
  Floats k = Floats(stage.k);
  Floats state = Floats(states.to);
  for (uint i = 0; i < stage.key_dim; ++i) begin_state(states, first + i * stage.value_dim);
  for (uint t = span.first_token; t < span.first_token + span.num_tokens; ++t) {
    const uint row = (t * stage.key_heads + key_head) * stage.key_dim;
    float read = 0;
    for (uint i = 0; i < stage.key_dim; ++i) {
      read += kept_share(t, head, i) * state.at[first + i * stage.value_dim] * k.at[row + i];
    }
    const float beta = Floats(stage.beta).at[t * stage.value_heads + head];
    const float change = beta * (Floats(stage.v).at[t * columns + column] - read);
    float y = 0;
    for (uint i = 0; i < stage.key_dim; ++i) {
      const uint place = first + i * stage.value_dim;
      const float next = kept_share(t, head, i) * state.at[place] + k.at[row + i] * change;
      y += next * Floats(stage.q).at[row + i];
      state.at[place] = next;
    }
    Floats(stage.y).at[t * columns + column] = stage.scale * y;
  }
}

TENON_DEVICE void run() {
  const uint sequence = group_y();
  Step step = Step(stage.step);
  const SequenceSpan span = Spans(step.header.spans).at[sequence];
  if (span.num_tokens == 0) return;
  const States states = states_of(step, stage.state, sequence);
  const uint columns = stage.value_heads * stage.value_dim;
  for (uint c = global_thread(); c < columns; c += num_groups() * num_threads()) {
    advance(span, states, c);
  }
}
