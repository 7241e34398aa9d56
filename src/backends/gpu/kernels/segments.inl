// sum_segments and softmax: a group per segment of a row.
#include "backends/gpu/kernels/reduce.inl"

TENON_DEVICE void sum_segment(uint number, uint first) {
  float sum = 0;
  for (uint i = thread_number(); i < stage.segment; i += num_threads()) {
    sum += Floats(stage.x).at[first + i];
  }
  sum = group_sum(sum);
  if (thread_number() == 0) Floats(stage.y).at[number] = sum;
}

TENON_DEVICE void softmax(uint first) {
  Floats x = Floats(stage.x);
  float largest = -infinity();
  for (uint i = thread_number(); i < stage.segment; i += num_threads()) {
    largest = larger(largest, x.at[first + i]);
  }
  largest = group_max(largest);
  float sum = 0;
  for (uint i = thread_number(); i < stage.segment; i += num_threads()) {
    sum += exp_of(x.at[first + i] - largest);
  }
  sum = group_sum(sum);
  for (uint i = thread_number(); i < stage.segment; i += num_threads()) {
    Floats(stage.y).at[first + i] = exp_of(x.at[first + i] - largest) / sum;
  }
}

TENON_DEVICE void run() {
  const uint segments = stage.columns / stage.segment;
  const uint row = group_y();
  for (uint s = group_x(); s < segments; s += num_groups()) {
    const uint first = row * stage.columns + s * stage.segment;
    if (operation() == kOpSoftmax)
      softmax(first);
    else
      sum_segment(row * segments + s, first);
  }
}
