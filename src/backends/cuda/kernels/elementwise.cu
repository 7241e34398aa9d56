// glu, activate, add, mul, sigmoid_gate, scale, soft_cap and position_scale: value by value.
#include "backends/cuda/kernels/device.h"
#include "backends/cuda/kernels/device_math.h"

namespace tenon::cuda {

struct Elementwise {
  gpu::ElementwiseStage stage;
  Constants constants;

  TENON_DEVICE float gelu_tanh(float x) {
    return x / 2 * (1 + tanh_of(0.797884561f * (x + 0.044715f * x * x * x)));
  }

  // a, b, c, d: alpha_p, alpha_n, beta and epsilon of tenon_activate_params.
  TENON_DEVICE float activated(float x) {
    switch (stage.activation) {
      case gpu::kActivationSilu:
        return x * sigmoid_of(x);
      case gpu::kActivationGeluErf:
        return x / 2 * (1 + erf_of(x * 0.707106781f));
      case gpu::kActivationGeluTanh:
        return gelu_tanh(x);
      case gpu::kActivationRelu:
        return is_nan(x) ? x : larger(x, 0.0f);
      case gpu::kActivationReluSquared:
        return is_nan(x) ? x : larger(x, 0.0f) * larger(x, 0.0f);
      case gpu::kActivationXielu:
        return x > 0 ? stage.a * x * x + stage.c * x
                     : stage.b * (expm1_of(smaller(x, stage.d)) - x) + stage.c * x;
      case gpu::kActivationSigmoid:
        return sigmoid_of(x);
      case gpu::kActivationTanh:
        return tanh_of(x);
      case gpu::kActivationSoftplus:
        return larger(x, 0.0f) + log1p_of(exp_of(-absolute(x)));
      case gpu::kActivationExp:
        return exp_of(x);
      default:
        return x == 0 ? x : sign_of(x) * root(larger(absolute(x), stage.d));
    }
  }

  // a: alpha, b: limit (0: none), c: up_offset, flag: limit_after.
  TENON_DEVICE float glu(float gate, float up) {
    const float limit = stage.b;
    if (limit > 0) up = limited(up, -limit, limit);
    if (limit > 0 && stage.flag == 0) gate = smaller(gate, limit);
    const bool is_silu = stage.activation == gpu::kActivationSilu;
    float y = is_silu ? gate * sigmoid_of(stage.a * gate) : activated(gate);
    if (limit > 0 && stage.flag != 0) y = smaller(y, limit);
    return y * (up + stage.c);
  }

  // 1 + scale ln(floor((position + offset) / length) + 1); activation and flag: length and offset.
  TENON_DEVICE float position_factor(uint row) {
    Step step = Step(stage.step);
    const int position = Ints(step.header.positions).at[row * stage.position_parts];
    const uint64_t lengths = (uint64_t(uint(position)) + stage.flag) / stage.activation;
    return 1 + stage.a * log_of(float(lengths + 1));
  }

  TENON_DEVICE void run() {
    const uint row = group_y();
    const uint columns = stage.columns;
    const uint piece = stage.y == 0 ? 1 : columns / stage.y_columns;
    const uint y_row = stage.y_is_vector != 0 ? 0 : row * stage.y_columns;
    const float factor = constants.values[0] == gpu::kOpPositionScale ? position_factor(row) : 0;
    for (uint c = global_thread(); c < columns; c += num_groups() * num_threads()) {
      const float x = Floats(stage.x).at[row * columns + c];
      const float y = stage.y == 0 ? 0 : Floats(stage.y).at[y_row + c / piece];
      float z = x;
      switch (constants.values[0]) {
        case gpu::kOpGlu:
          z = glu(x, y);
          break;
        case gpu::kOpAdd:
          z = x + y;
          break;
        case gpu::kOpScale:
          z = x * stage.a + stage.b;
          break;
        case gpu::kOpSoftCap:
          z = stage.a * tanh_of(x / stage.a);
          break;
        case gpu::kOpSigmoidGate:
          z = x * sigmoid_of(y);
          break;
        case gpu::kOpActivate:
          z = activated(x);
          break;
        case gpu::kOpMul:
          z = x * y;
          break;
        case gpu::kOpPositionScale:
          z = x * factor;
          break;
      }
      Floats(stage.result).at[row * columns + c] = z;
    }
  }
};

}  // namespace tenon::cuda

TENON_ENTRY(elementwise, false, tenon::cuda::Elementwise)
