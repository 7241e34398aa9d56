// Sums and maxima over a group, by one tree whatever the step: equal operands give equal bits. Each
// call begins with a barrier, so calls may share the arrays. Included by kernels.

TENON_GROUP_ARRAY(float, group_parts, kMostWarps)
TENON_GROUP_ARRAY(uint, group_words, kMostWarps)

// All threads of the group call these and get the result.
TENON_DEVICE float group_sum(float x) {
  x = warp_sum(x);
  if (num_warps() == 1) return x;
  barrier();
  if (lane() == 0) group_parts[warp()] = x;
  barrier();
  float sum = 0;
  for (uint i = 0; i < num_warps(); ++i) sum += group_parts[i];
  return sum;
}

TENON_DEVICE float group_max(float x) {
  x = warp_max(x);
  if (num_warps() == 1) return x;
  barrier();
  if (lane() == 0) group_parts[warp()] = x;
  barrier();
  float largest = group_parts[0];
  for (uint i = 1; i < num_warps(); ++i) largest = larger(largest, group_parts[i]);
  return largest;
}

TENON_DEVICE uint group_max(uint x) {
  x = warp_max(x);
  if (num_warps() == 1) return x;
  barrier();
  if (lane() == 0) group_words[warp()] = x;
  barrier();
  uint largest = 0;
  for (uint i = 0; i < num_warps(); ++i) largest = larger(largest, group_words[i]);
  return largest;
}
