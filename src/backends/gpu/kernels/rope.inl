// rope: turns the pairs of each head by the angles of the row; copies values that are in no pair.

TENON_DEVICE float rotated(Floats x, uint head, uint d, Floats angles, uint angle_row) {
  const float own = x.at[head + d];
  if (d < stage.offset || d >= stage.offset + 2 * stage.pairs) return own;
  const uint place = d - stage.offset;
  const bool second = stage.halves != 0 ? place >= stage.pairs : place % 2 == 1;
  const uint pair = stage.halves != 0 ? place % stage.pairs : place / 2;
  const uint far = stage.halves != 0 ? stage.pairs : 1;
  const float other = x.at[head + (second ? d - far : d + far)];
  const float cosine = angles.at[angle_row + pair];
  const float sine = angles.at[angle_row + stage.pairs + pair];
  return second ? other * sine + own * cosine : own * cosine - other * sine;
}

TENON_DEVICE void run() {
  const uint row = group_y();
  Floats angles = Floats(stage.angles);
  for (uint c = global_thread(); c < stage.columns; c += num_groups() * num_threads()) {
    const uint d = c % stage.head_dim;
    const float y =
        rotated(Floats(stage.x), row * stage.columns + c - d, d, angles, row * 2 * stage.pairs);
    Floats(stage.y).at[row * stage.columns + c] = y;
  }
}
