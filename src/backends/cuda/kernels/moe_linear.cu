// moe_linear: a warp per result row and column of an expert's matrix. If the experts' results are
// added up, the warp processes them in order of choice.
#include "backends/cuda/kernels/device.h"
#include "backends/cuda/kernels/device_weights.h"

namespace tenon::cuda {

template <uint family>
struct MoeLinear {
  gpu::MoeLinearStage stage;
  Constants constants;

  TENON_DEVICE Decoder<family> decoder() const { return decoder_of<family>(constants); }

  TENON_DEVICE float product(uint token, uint choice, uint expert, uint n) {
    Floats x = Floats(stage.x);
    const uint columns = stage.columns;
    const uint part = token * stage.x_columns + (stage.x_columns == columns ? 0 : choice * columns);
    const Address weights = stage.weight + (Address(expert) * stage.rows + n) * stage.row_bytes;
    float sum = 0;
    for (uint c = 8 * lane(); c < columns; c += 8 * kWarp) {
      float w[8];
      decode8(decoder(), weights, c, stage.grids, w);
      for (uint i = 0; i < 8; ++i) {
        if (decoder().block_values > 1 || c + i < columns) sum += w[i] * x.at[part + c + i];
      }
    }
    return warp_sum(sum);
  }

  // Weighted result of choice number `choice` of a token in column n.
  TENON_DEVICE float weighed(uint token, uint choice, uint n) {
    const uint at = token * stage.used + choice;
    const uint expert = Words(stage.ids).at[at];
    const float w = stage.weights == 0 ? 1 : Floats(stage.weights).at[at];
    const float b = stage.bias == 0 ? 0 : Floats(stage.bias).at[expert * stage.rows + n];
    const float y = product(token, choice, expert, n);
    return stage.weigh_inputs != 0 ? w * y + b : w * (y + b);
  }

  TENON_DEVICE void run() {
    const uint token = group_y();
    Floats y = Floats(stage.y);
    const uint columns = stage.sum != 0 ? stage.rows : stage.used * stage.rows;
    const uint warps = num_groups() * num_warps();
    for (uint column = group_x() * num_warps() + warp(); column < columns; column += warps) {
      float result = 0;
      if (stage.sum != 0) {
        for (uint choice = 0; choice < stage.used; ++choice)
          result += weighed(token, choice, column);
      } else {
        result = weighed(token, column / stage.rows, column % stage.rows);
      }
      if (lane() == 0) y.at[token * columns + column] = result;
    }
  }
};

}  // namespace tenon::cuda

TENON_ENTRY(moe_linear_floats, true, tenon::cuda::MoeLinear<0>)
TENON_ENTRY(moe_linear_scaled, true, tenon::cuda::MoeLinear<1>)
TENON_ENTRY(moe_linear_k, true, tenon::cuda::MoeLinear<2>)
TENON_ENTRY(moe_linear_codebook, true, tenon::cuda::MoeLinear<3>)
// The decoders need slightly more registers than eight groups allow.
TENON_BOUND_ENTRY(moe_linear_small, tenon::cuda::kMostThreads, 7, true, tenon::cuda::MoeLinear<4>)
