// ssm_scan (arXiv 2312.00752, 2405.21060): a thread per row p of a head's state [p, N].

TENON_DEVICE void scan(SequenceSpan span, States states, uint column) {
  const uint head = column / stage.head_dim;
  const uint size = stage.size;
  const uint group = head / (stage.heads / stage.groups);
  const uint columns = stage.heads * stage.head_dim;
  Floats a = Floats(stage.a);
  Floats state = Floats(states.to);
  for (uint n = 0; n < size; ++n) begin_state(states, column * size + n);
  for (uint t = span.first_token; t < span.first_token + span.num_tokens; ++t) {
    const float x = Floats(stage.x).at[t * columns + column];
    const float dt = Floats(stage.dt).at[t * stage.heads + head];
    const uint row = (t * stage.groups + group) * size;
    float y = stage.d == 0 ? 0 : Floats(stage.d).at[head] * x;
    for (uint n = 0; n < size; ++n) {
      const float decay = exp_of(dt * a.at[head * stage.decays + (stage.decays == 1 ? 0 : n)]);
      const float next = decay * state.at[column * size + n] + dt * x * Floats(stage.b).at[row + n];
      y += next * Floats(stage.c).at[row + n];
      state.at[column * size + n] = next;
    }
    Floats(stage.y).at[t * columns + column] = y;
  }
}

TENON_DEVICE void run() {
  const uint sequence = group_y();
  Step step = Step(stage.step);
  const SequenceSpan span = Spans(step.header.spans).at[sequence];
  if (span.num_tokens == 0) return;
  const States states = states_of(step, stage.state, sequence);
  const uint columns = stage.heads * stage.head_dim;
  for (uint c = global_thread(); c < columns; c += num_groups() * num_threads()) {
    scan(span, states, c);
  }
}
