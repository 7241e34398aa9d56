// Segments of rows rotated as the rows of a 4-bit cache are, so that products with those need no
// unpacking: q.k = (Hq).(Hk).
#include "backends/cuda/kernels/device.h"
#include "backends/cuda/kernels/device_rotate.h"

namespace tenon::cuda {

struct Rotate {
  gpu::RotateStage stage;
  Constants constants;

  TENON_DEVICE void run() {
    float* rotated = dynamic_shared<float>();  // [columns of a segment]
    for (uint s = group_x(); s < stage.columns / stage.segment; s += num_groups()) {
      const uint first = group_y() * stage.columns + s * stage.segment;
      barrier();
      for (uint i = thread_number(); i < stage.segment; i += num_threads()) {
        rotated[i] = Floats(stage.x).at[first + i];
      }
      rotate(rotated, stage.segment);
      for (uint i = thread_number(); i < stage.segment; i += num_threads()) {
        Floats(stage.y).at[first + i] = rotated[i];
      }
    }
  }
};

}  // namespace tenon::cuda

TENON_ENTRY(rotate, true, tenon::cuda::Rotate)
