// mix_streams: a thread per column of the streams of a row.

TENON_DEVICE float share(uint row, uint stream, uint result) {
  if (stage.matrix == 0) return stage.results == 1 || stream == result ? 1 : 0;
  return Floats(stage.matrix).at[(row * stage.streams + stream) * stage.results + result];
}

TENON_DEVICE void run() {
  const uint row = group_y();
  const uint width = stage.width;
  for (uint c = global_thread(); c < width; c += num_groups() * num_threads()) {
    for (uint i = 0; i < stage.results; ++i) {
      float sum = 0;
      for (uint j = 0; j < stage.streams; ++j) {
        sum += share(row, j, i) * Floats(stage.x).at[(row * stage.streams + j) * width + c];
      }
      if (stage.added != 0) {
        sum += Floats(stage.factors).at[row * stage.results + i] *
               Floats(stage.added).at[row * width + c];
      }
      Floats(stage.y).at[(row * stage.results + i) * width + c] = sum;
    }
  }
}
