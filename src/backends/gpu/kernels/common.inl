// Functions of every kernel: rows of a step, and floats as keys that order them.
//
// The texts of this folder are kernels of both plugins, in the common subset of GLSL and C++. A
// dialect explains or defines each word that differs: vulkan/shaders/gpu_dialect.glsl and
// cuda/kernels/gpu_dialect.h. Texts that are no kernel are included by kernels ("included by"), or
// by the dialect, if they have neither shared memory nor parameters.

// Rows of a class in the step (TENON_ROWS_*).
TENON_DEVICE uint rows_of(Step step, uint row_class) {
  if (row_class == 1) return step.header.tokens;
  return row_class == 2 ? step.header.outputs : step.header.sequences;
}

// Reads the bits, since a compiler may assume that x is no NaN.
TENON_DEVICE bool is_nan(float x) { return (float_to_bits(x) & 0x7FFFFFFFu) > 0x7F800000u; }

// Key whose order is the order of x. NaN has the key of -infinity; both zeros have one key.
TENON_DEVICE uint order_key(float x) {
  if (is_nan(x)) x = -infinity();
  const uint bits = x == 0 ? 0 : float_to_bits(x);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}
TENON_DEVICE float value_of_key(uint key) {
  return bits_to_float((key & 0x80000000u) != 0 ? key & 0x7FFFFFFFu : ~key);
}
