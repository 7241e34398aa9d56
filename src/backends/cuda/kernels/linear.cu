// linear and linear_heads: a warp per weight row, its lanes along the columns. Each weight value is
// decoded once for kTokens rows of x.
#include "backends/cuda/kernels/device.h"
#include "backends/cuda/kernels/device_weights.h"

namespace tenon::cuda {

template <uint family>
struct Linear {
  static constexpr uint kTokens = 4;  // kFewTokens of gpu/stages_products.cpp
  gpu::LinearStage stage;
  Constants constants;

  TENON_DEVICE Decoder<family> decoder() const { return decoder_of<family>(constants); }

  TENON_DEVICE void multiply_row(uint row, uint first, uint count) {
    Floats x = Floats(stage.x);
    const Address weights = stage.weight + row * stage.row_bytes;
    const uint columns = stage.columns;
    const uint part = first * stage.x_columns + row / stage.rows_of_head * columns;
    float sums[kTokens];
    for (uint t = 0; t < kTokens; ++t) sums[t] = 0;
    for (uint c = 8 * lane(); c < columns; c += 8 * kWarp) {
      float w[8];
      decode8(decoder(), weights, c, stage.grids, w);
      for (uint t = 0; t < kTokens; ++t) {
        if (t >= count) break;
        const uint at = part + t * stage.x_columns + c;
        for (uint i = 0; i < 8; ++i) {
          if (decoder().block_values > 1 || c + i < columns) sums[t] += w[i] * x.at[at + i];
        }
      }
    }
    const float bias = stage.bias == 0 ? 0 : Floats(stage.bias).at[row];
    for (uint t = 0; t < kTokens && t < count; ++t) {
      const float sum = warp_sum(sums[t]);
      if (lane() == 0) {
        Floats(stage.y).at[(first + t) * stage.rows + row] = sum + bias;
      }
    }
  }

  TENON_DEVICE void run() {
    const uint first = group_y() * kTokens;
    const uint count = smaller(kTokens, rows_of(Step(stage.step), stage.row_class) - first);
    const uint warps = num_groups() * num_warps();
    for (uint row = group_x() * num_warps() + warp(); row < stage.rows; row += warps) {
      multiply_row(row, first, count);
    }
  }
};

}  // namespace tenon::cuda

TENON_ENTRY(linear_floats, true, tenon::cuda::Linear<0>)
TENON_ENTRY(linear_scaled, true, tenon::cuda::Linear<1>)
TENON_ENTRY(linear_k, true, tenon::cuda::Linear<2>)
TENON_ENTRY(linear_codebook, true, tenon::cuda::Linear<3>)
TENON_ENTRY(linear_small, true, tenon::cuda::Linear<4>)
