// The orthonormal Walsh-Hadamard transform of src/quant/cache_row.h, by a whole workgroup, over an
// array `rotated` in shared memory that the including shader declares.

// Of rotated[0 .. n): of its largest power of two, and then of the rest. Its own inverse.
void rotate(uint n) {
  uint first = 0;
  while (n > 0) {
    const uint size = 1u << findMSB(n);
    for (uint far = size / 2; far > 0; far /= 2) {
      barrier();
      for (uint i = gl_LocalInvocationID.x; i < size / 2; i += kThreads) {
        const uint at = first + i / far * 2 * far + i % far;
        const float a = rotated[at];
        const float b = rotated[at + far];
        rotated[at] = a + b;
        rotated[at + far] = a - b;
      }
    }
    barrier();
    const uint log2_size = findMSB(size);
    const float odd = log2_size % 2 == 1 ? 0.707106781 : 1.0;
    const float factor = odd / float(1u << log2_size / 2);
    for (uint i = gl_LocalInvocationID.x; i < size; i += kThreads) rotated[first + i] *= factor;
    first += size;
    n -= size;
  }
  barrier();
}
