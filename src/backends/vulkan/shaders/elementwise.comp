// glu, activate, add, mul, sigmoid_gate, scale, soft_cap and position_scale: value by value.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "math.glsl"

layout(constant_id = 1) const uint kOperation = 0;  // TENON_OP_*

layout(buffer_reference, scalar) readonly buffer Parameters { ElementwiseStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

float gelu_tanh(float x) {
  return x / 2 * (1 + tanh_of(0.797884561 * (x + 0.044715 * x * x * x)));
}

// a, b, c, d: alpha_p, alpha_n, beta and epsilon of tenon_activate_params.
float activated(float x) {
  switch (STAGE.activation) {
    case kActivationSilu: return x * sigmoid_of(x);
    case kActivationGeluErf: return x / 2 * (1 + erf_of(x * 0.707106781));
    case kActivationGeluTanh: return gelu_tanh(x);
    case kActivationRelu: return is_nan(x) ? x : max(x, 0);
    case kActivationReluSquared: return is_nan(x) ? x : max(x, 0) * max(x, 0);
    case kActivationXielu:
      return x > 0 ? STAGE.a * x * x + STAGE.c * x
                   : STAGE.b * (expm1_of(min(x, STAGE.d)) - x) + STAGE.c * x;
    case kActivationSigmoid: return sigmoid_of(x);
    case kActivationTanh: return tanh_of(x);
    case kActivationSoftplus: return max(x, 0) + log1p_of(exp_of(-abs(x)));
    case kActivationExp: return exp_of(x);
    default: return x == 0 ? x : sign(x) * sqrt(max(abs(x), STAGE.d));
  }
}

// a: alpha, b: limit (0: none), c: up_offset, flag: limit_after.
float glu(float gate, float up) {
  const float limit = STAGE.b;
  if (limit > 0) up = clamp(up, -limit, limit);
  if (limit > 0 && STAGE.flag == 0) gate = min(gate, limit);
  float y = STAGE.activation == kActivationSilu ? gate * sigmoid_of(STAGE.a * gate) : activated(gate);
  if (limit > 0 && STAGE.flag != 0) y = min(y, limit);
  return y * (up + STAGE.c);
}

// 1 + scale ln(floor((position + offset) / length) + 1); activation and flag: length and offset.
float position_factor(uint row) {
  Step step = Step(STAGE.step);
  const int position = Ints(step.header.positions).at[row * STAGE.position_parts];
  const uint64_t lengths = (uint64_t(uint(position)) + STAGE.flag) / STAGE.activation;
  return 1 + STAGE.a * log_of(float(lengths + 1));
}

void main() {
  const uint row = gl_WorkGroupID.y;
  const uint columns = STAGE.columns;
  const uint piece = STAGE.y == 0 ? 1 : columns / STAGE.y_columns;
  const uint y_row = STAGE.y_is_vector != 0 ? 0 : row * STAGE.y_columns;
  const float factor = kOperation == kOpPositionScale ? position_factor(row) : 0;
  for (uint c = gl_GlobalInvocationID.x; c < columns; c += gl_NumWorkGroups.x * kThreads) {
    const float x = Floats(STAGE.x).at[row * columns + c];
    const float y = STAGE.y == 0 ? 0 : Floats(STAGE.y).at[y_row + c / piece];
    float z = x;
    switch (kOperation) {
      case kOpGlu: z = glu(x, y); break;
      case kOpAdd: z = x + y; break;
      case kOpScale: z = x * STAGE.a + STAGE.b; break;
      case kOpSoftCap: z = STAGE.a * tanh_of(x / STAGE.a); break;
      case kOpSigmoidGate: z = x * sigmoid_of(y); break;
      case kOpActivate: z = activated(x); break;
      case kOpMul: z = x * y; break;
      case kOpPositionScale: z = x * factor; break;
    }
    Floats(STAGE.result).at[row * columns + c] = z;
  }
}
