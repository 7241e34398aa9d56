// Sums of whole numbers over a workgroup, in the order of its threads: which of them reaches a goal.

shared uint64_t thread_masses[kDrawThreads];

// All threads call this. The sum over the threads before this one; `all` is that over all of them.
uint64_t mass_before(uint64_t own, out uint64_t all) {
  const uint thread = gl_LocalInvocationID.x;
  barrier();
  thread_masses[thread] = own;
  for (uint far = 1; far < kDrawThreads; far *= 2) {
    barrier();
    const uint64_t other = thread >= far ? thread_masses[thread - far] : uint64_t(0);
    barrier();
    thread_masses[thread] += other;
  }
  barrier();
  all = thread_masses[kDrawThreads - 1];
  return thread_masses[thread] - own;
}
