// wkv7 (arXiv 2503.14456), wkv6 (arXiv 2404.05892) and gated linear attention (arXiv 2312.06635): a
// thread per value of a head, with its row of the state [value, key] or column of [key, value].

TENON_DEVICE float wkv7(Floats state, uint first, uint value, uint keys) {
  const float v = Floats(stage.v).at[value];
  float read = 0;
  for (uint j = 0; j < stage.dim; ++j) read += state.at[first + j] * Floats(stage.a).at[keys + j];
  float y = 0;
  for (uint j = 0; j < stage.dim; ++j) {
    const float next = state.at[first + j] * Floats(stage.w).at[keys + j] +
                       read * Floats(stage.b).at[keys + j] + v * Floats(stage.k).at[keys + j];
    y += next * Floats(stage.r).at[keys + j];
    state.at[first + j] = next;
  }
  return y;
}

// bonus: index at which the head's bonus begins.
TENON_DEVICE float wkv6(Floats state, uint first, uint value, uint keys, uint bonus) {
  const float v = Floats(stage.v).at[value];
  float y = 0;
  for (uint i = 0; i < stage.dim; ++i) {
    const uint place = first + i * stage.dim;
    const float kept = state.at[place];
    const float added = Floats(stage.k).at[keys + i] * v;
    const float next = Floats(stage.w).at[keys + i] * kept + added;
    const float read = stage.bonus == 0 ? next : kept + Floats(stage.bonus).at[bonus + i] * added;
    y += Floats(stage.r).at[keys + i] * read;
    state.at[place] = next;
  }
  return y;
}

TENON_DEVICE void run() {
  const uint sequence = group_y();
  Step step = Step(stage.step);
  const SequenceSpan span = Spans(step.header.spans).at[sequence];
  if (span.num_tokens == 0) return;
  const States states = states_of(step, stage.state, sequence);
  const uint dim = stage.dim;
  const uint columns = stage.heads * dim;
  for (uint c = global_thread(); c < columns; c += num_groups() * num_threads()) {
    const uint head = c / dim;
    const bool by_rows = operation() == kOpWkv7;
    const uint first = head * dim * dim + (by_rows ? c % dim * dim : c % dim);
    for (uint i = 0; i < dim; ++i) begin_state(states, first + i * (by_rows ? 1 : dim));
    for (uint t = span.first_token; t < span.first_token + span.num_tokens; ++t) {
      const uint keys = t * columns + head * dim;
      const uint value = t * columns + c;
      const float y = by_rows ? wkv7(Floats(states.to), first, value, keys)
                              : wkv6(Floats(states.to), first, value, keys, head * dim);
      Floats(stage.y).at[value] = y;
    }
  }
}
