// rope_angles. An angle is a product of integers: the position, and its turns as a binary fraction
// of 64 bits. The rest after whole turns is exact, so no f64 is needed.

TENON_DEVICE void run() {
  const uint row = group_y();
  Ints positions = Ints(Step(stage.step).header.positions);
  for (uint i = global_thread(); i < stage.pairs; i += num_groups() * num_threads()) {
    const uint part = Words(stage.parts).at[i];
    const int64_t position =
        int64_t(positions.at[row * stage.position_parts + part]) + stage.offset;
    const uint64_t turns = uint64_t(position) * Addresses(stage.turns).at[i];
    const FloatPair y = cos_sin_of_turns(uint(turns >> 32));
    Floats(stage.y).at[row * 2 * stage.pairs + i] = stage.magnitude * y.x;
    Floats(stage.y).at[row * 2 * stage.pairs + stage.pairs + i] = stage.magnitude * y.y;
  }
}
