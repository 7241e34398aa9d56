// rope_angles. An angle is a product of integers: the position, and the turns of a position as a binary
// fraction of 64 bits. What is left of it after whole turns is exact, so no f64 is needed.
#include "backends/cuda/kernels/device.h"
#include "backends/cuda/kernels/device_math.h"

namespace tenon::cuda {

struct RopeAngles {
  gpu::RopeAnglesStage stage;
  Constants constants;

  TENON_DEVICE void run() {
    const uint row = group_y();
    Ints positions = Ints(Step(stage.step).header.positions);
    for (uint i = global_thread(); i < stage.pairs; i += num_groups() * num_threads()) {
      const uint part = Words(stage.parts).at[i];
      const int64_t position =
          int64_t(positions.at[row * stage.position_parts + part]) + stage.offset;
      const uint64_t turns = uint64_t(position) * Addresses(stage.turns).at[i];
      const Turn y = cos_sin_of_turns(uint(turns >> 32));
      Floats(stage.y).at[row * 2 * stage.pairs + i] = stage.magnitude * y.cosine;
      Floats(stage.y).at[row * 2 * stage.pairs + stage.pairs + i] = stage.magnitude * y.sine;
    }
  }
};

}  // namespace tenon::cuda

TENON_ENTRY(rope_angles, false, tenon::cuda::RopeAngles)
