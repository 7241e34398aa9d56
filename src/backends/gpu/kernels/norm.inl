// rms_norm, layer_norm and l2_norm: a group per segment of a row.
#include "backends/gpu/kernels/reduce.inl"

// Sum of (x - mean)^2 over a segment.
TENON_DEVICE float sum_of_squares(Floats x, uint first, float mean) {
  float sum = 0;
  for (uint i = thread_number(); i < stage.segment; i += num_threads()) {
    const float d = x.at[first + i] - mean;
    sum += d * d;
  }
  return group_sum(sum);
}

TENON_DEVICE void normalise(uint first) {
  Floats x = Floats(stage.x);
  float mean = 0;
  if (stage.kind == kOpLayerNorm) {
    float sum = 0;
    for (uint i = thread_number(); i < stage.segment; i += num_threads()) sum += x.at[first + i];
    mean = group_sum(sum) / float(stage.segment);
  }
  const float squares = sum_of_squares(x, first, mean);
  const bool is_mean = stage.kind == kOpRmsNorm || stage.kind == kOpLayerNorm;
  const float size = is_mean ? root(squares / float(stage.segment) + stage.epsilon)
                             : larger(root(squares), stage.epsilon);
  for (uint i = thread_number(); i < stage.segment; i += num_threads()) {
    float y = (x.at[first + i] - mean) / size;
    if (stage.weight != 0) y *= Floats(stage.weight).at[i];
    if (stage.bias != 0) y += Floats(stage.bias).at[i];
    Floats(stage.y).at[first + i] = y;
  }
}

TENON_DEVICE void run() {
  const uint row = group_y() * stage.columns;
  for (uint i = group_x(); i < stage.columns / stage.segment; i += num_groups()) {
    normalise(row + i * stage.segment);
  }
}
