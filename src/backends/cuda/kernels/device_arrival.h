// Merging of partial results by the last group to arrive: no group waits for another.
#pragma once

#include "backends/cuda/kernels/device_mma.h"

namespace tenon::cuda {

/// Called by all threads of a group after writing the group's part. Returns true in the last group;
/// its threads see all parts.
///   arrived   a word that is 0 before the first and after the last arrival
///   expected  number of groups
TENON_DEVICE bool comes_last(Address arrived, uint expected) {
  TENON_SHARED(uint, groups_before, 1);
  device_fence();
  barrier();
  if (thread_number() == 0) {
    groups_before[0] = fetch_increment(arrived);
    if (groups_before[0] + 1 == expected) Words(arrived).at[0] = 0;
  }
  barrier();
  device_fence();
  return groups_before[0] + 1 == expected;
}

}  // namespace tenon::cuda
