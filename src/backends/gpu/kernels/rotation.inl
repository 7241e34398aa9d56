// Orthonormal Walsh-Hadamard transform of src/quant/cache_row.h, by a whole group. Included by
// kernels that have a shared array `rotated`.

// Transforms rotated[0 .. n): its largest power of two, then the rest. Its own inverse.
TENON_DEVICE void rotate(uint n) {
  uint first = 0;
  while (n > 0) {
    const uint size = 1u << highest_bit(n);
    for (uint far = size / 2; far > 0; far /= 2) {
      barrier();
      for (uint i = thread_number(); i < size / 2; i += num_threads()) {
        const uint at = first + i / far * 2 * far + i % far;
        const float a = rotated[at];
        const float b = rotated[at + far];
        rotated[at] = a + b;
        rotated[at + far] = a - b;
      }
    }
    barrier();
    const uint log2_size = highest_bit(size);
    const float odd = log2_size % 2 == 1 ? 0.707106781f : 1.0f;
    const float factor = odd / float(1u << log2_size / 2);
    for (uint i = thread_number(); i < size; i += num_threads()) rotated[first + i] *= factor;
    first += size;
    n -= size;
  }
  barrier();
}
