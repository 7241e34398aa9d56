// rotate: segments of rows, rotated as rows of a 4-bit cache are. Products with those then need no
// unpacking: q.k = (Hq).(Hk).
#include "backends/gpu/kernels/rotation.inl"

TENON_DEVICE void run() {
  for (uint s = group_x(); s < stage.columns / stage.segment; s += num_groups()) {
    const uint first = group_y() * stage.columns + s * stage.segment;
    barrier();
    for (uint i = thread_number(); i < stage.segment; i += num_threads()) {
      rotated[i] = Floats(stage.x).at[first + i];
    }
    rotate(stage.segment);
    for (uint i = thread_number(); i < stage.segment; i += num_threads()) {
      Floats(stage.y).at[first + i] = rotated[i];
    }
  }
}
