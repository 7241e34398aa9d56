// slice and concat: each segment of the result is columns of a segment of x, then one of y.

TENON_DEVICE void run() {
  const uint row = group_y();
  const uint size = stage.x_columns + stage.y_segment;
  const uint columns = size * stage.segments;
  const uint y_segments = stage.y_broadcast != 0 ? 1 : stage.segments;
  for (uint c = global_thread(); c < columns; c += num_groups() * num_threads()) {
    const uint segment = c / size;
    const uint place = c % size;
    float value = 0;
    if (place < stage.x_columns) {
      const uint x_row = row * stage.segments * stage.x_segment;
      value = Floats(stage.x).at[x_row + segment * stage.x_segment + stage.x_first + place];
    } else {
      const uint y_row = row * y_segments * stage.y_segment;
      const uint own = stage.y_broadcast != 0 ? 0 : segment * stage.y_segment;
      value = Floats(stage.y).at[y_row + own + place - stage.x_columns];
    }
    Floats(stage.result).at[row * columns + c] = value;
  }
}
