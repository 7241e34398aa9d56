// sinkhorn: a group per matrix, a thread per row and per column in turn.

// Rows become softmax + epsilon.
TENON_DEVICE void soften(uint matrix) {
  Floats x = Floats(stage.x);
  SharedFloats y = SharedFloats(stage.y);
  for (uint i = thread_number(); i < stage.size; i += num_threads()) {
    const uint first = matrix + i * stage.size;
    float largest = -infinity();
    for (uint j = 0; j < stage.size; ++j) largest = larger(largest, x.at[first + j]);
    float sum = 0;
    for (uint j = 0; j < stage.size; ++j) sum += exp_of(x.at[first + j] - largest);
    for (uint j = 0; j < stage.size; ++j) {
      y.at[first + j] = exp_of(x.at[first + j] - largest) / sum + stage.epsilon;
    }
  }
}

// Divides each line, `step` from one value to the next, by its sum + epsilon.
TENON_DEVICE void divide(uint matrix, uint line_step, uint step) {
  SharedFloats y = SharedFloats(stage.y);
  memory_barrier();
  for (uint i = thread_number(); i < stage.size; i += num_threads()) {
    float sum = stage.epsilon;
    for (uint k = 0; k < stage.size; ++k) sum += y.at[matrix + i * line_step + k * step];
    for (uint k = 0; k < stage.size; ++k) y.at[matrix + i * line_step + k * step] /= sum;
  }
}

TENON_DEVICE void run() {
  const uint matrix = group_y() * stage.size * stage.size;
  soften(matrix);
  divide(matrix, 1, stage.size);
  for (uint i = 1; i < stage.iterations; ++i) {
    divide(matrix, stage.size, 1);
    divide(matrix, 1, stage.size);
  }
}
