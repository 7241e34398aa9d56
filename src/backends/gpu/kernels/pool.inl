// pool: a thread per column of a sequence.

TENON_DEVICE void run() {
  const uint sequence = group_y();
  const SequenceSpan span = Spans(Step(stage.step).header.spans).at[sequence];
  Floats x = Floats(stage.x);
  for (uint c = global_thread(); c < stage.columns; c += num_groups() * num_threads()) {
    float y = 0;
    if (span.num_tokens > 0 && stage.kind == kPoolMean) {
      for (uint t = 0; t < span.num_tokens; ++t) {
        y += x.at[(span.first_token + t) * stage.columns + c];
      }
      y /= float(span.num_tokens);
    } else if (span.num_tokens > 0) {
      const uint t = stage.kind == kPoolFirst ? 0 : span.num_tokens - 1;
      y = x.at[(span.first_token + t) * stage.columns + c];
    }
    Floats(stage.y).at[sequence * stage.columns + c] = y;
  }
}
