// glu, activate, add, mul, sigmoid_gate, scale, soft_cap and position_scale: value by value.

TENON_DEVICE float gelu_tanh(float x) {
  return x / 2 * (1 + tanh_of(0.797884561f * (x + 0.044715f * x * x * x)));
}

// a, b, c, d: alpha_p, alpha_n, beta and epsilon of tenon_activate_params.
TENON_DEVICE float activated(float x) {
  switch (stage.activation) {
    case kActivationSilu:
      return x * sigmoid_of(x);
    case kActivationGeluErf:
      return x / 2 * (1 + erf_of(x * 0.707106781f));
    case kActivationGeluTanh:
      return gelu_tanh(x);
    case kActivationRelu:
      return is_nan(x) ? x : larger(x, 0.0f);
    case kActivationReluSquared:
      return is_nan(x) ? x : larger(x, 0.0f) * larger(x, 0.0f);
    case kActivationXielu:
      return x > 0 ? stage.a * x * x + stage.c * x
                   : stage.b * (expm1_of(smaller(x, stage.d)) - x) + stage.c * x;
    case kActivationSigmoid:
      return sigmoid_of(x);
    case kActivationTanh:
      return tanh_of(x);
    case kActivationSoftplus:
      return larger(x, 0.0f) + log1p_of(exp_of(-absolute(x)));
    case kActivationExp:
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
  const bool is_silu = stage.activation == kActivationSilu;
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
  const float factor = operation() == kOpPositionScale ? position_factor(row) : 0;
  for (uint c = global_thread(); c < columns; c += num_groups() * num_threads()) {
    const float x = Floats(stage.x).at[row * columns + c];
    const float y = stage.y == 0 ? 0 : Floats(stage.y).at[y_row + c / piece];
    float z = x;
    switch (operation()) {
      case kOpGlu:
        z = glu(x, y);
        break;
      case kOpAdd:
        z = x + y;
        break;
      case kOpScale:
        z = x * stage.a + stage.b;
        break;
      case kOpSoftCap:
        z = stage.a * tanh_of(x / stage.a);
        break;
      case kOpSigmoidGate:
        z = x * sigmoid_of(y);
        break;
      case kOpActivate:
        z = activated(x);
        break;
      case kOpMul:
        z = x * y;
        break;
      case kOpPositionScale:
        z = x * factor;
        break;
    }
    Floats(stage.result).at[row * columns + c] = z;
  }
}
