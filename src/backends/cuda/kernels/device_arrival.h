// Groups that write parts of one result, which the last of them puts together: no group waits for another.
#pragma once

#include "backends/cuda/kernels/device_mma.h"

namespace tenon::cuda {

/// All threads of the group call it, when they have written the group's part. Whether the parts of all groups are
/// there; the threads then see them.
///   arrived   a word that was 0 before the first group came, and is again when the last one has
///   expected  groups
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
