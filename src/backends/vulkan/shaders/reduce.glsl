// Sums and maxima over a subgroup and over a workgroup, by one tree whatever the step: equal
// operands give equal bits.

shared float group_parts[128];  // a workgroup has no more subgroups
shared uint group_words[128];

float subgroup_sum(float x) {
  for (uint far = gl_SubgroupSize / 2; far > 0; far /= 2) x += subgroupShuffleXor(x, far);
  return x;
}

float subgroup_max(float x) {
  for (uint far = gl_SubgroupSize / 2; far > 0; far /= 2) x = max(x, subgroupShuffleXor(x, far));
  return x;
}

// All threads of the workgroup call these, and all get the result.
float group_sum(float x) {
  x = subgroup_sum(x);
  if (gl_NumSubgroups == 1) return x;
  barrier();
  if (gl_SubgroupInvocationID == 0) group_parts[gl_SubgroupID] = x;
  barrier();
  float sum = 0;
  for (uint i = 0; i < gl_NumSubgroups; ++i) sum += group_parts[i];
  return sum;
}

float group_max(float x) {
  x = subgroup_max(x);
  if (gl_NumSubgroups == 1) return x;
  barrier();
  if (gl_SubgroupInvocationID == 0) group_parts[gl_SubgroupID] = x;
  barrier();
  float largest = group_parts[0];
  for (uint i = 1; i < gl_NumSubgroups; ++i) largest = max(largest, group_parts[i]);
  return largest;
}

uint subgroup_max(uint x) {
  for (uint far = gl_SubgroupSize / 2; far > 0; far /= 2) x = max(x, subgroupShuffleXor(x, far));
  return x;
}

uint group_max(uint x) {
  x = subgroup_max(x);
  if (gl_NumSubgroups == 1) return x;
  barrier();
  if (gl_SubgroupInvocationID == 0) group_words[gl_SubgroupID] = x;
  barrier();
  uint largest = 0;
  for (uint i = 0; i < gl_NumSubgroups; ++i) largest = max(largest, group_words[i]);
  return largest;
}
