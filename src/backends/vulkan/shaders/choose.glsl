// The numbers of the `wanted` items of the largest keys, of equal ones the lower number, in ascending
// order: four passes find the last key that is in, digit by digit (radix selection), and a fifth writes. Keys of few
// items are kept between the passes; those of more are computed anew, since no memory is planned for them. The
// including shader declares key_of(place) and number_of(place); numbers ascend with places.

const uint kKeptKeys = 2048;  // kKeptKeys of stage_operations.cpp
shared uint kept_keys[kKeptKeys];

shared uint digits[256];
shared uint chosen_digit;
shared uint wanted_of_digit;
shared uint group_counts[128];

// A key that is larger where the score is; what is no number is -infinity.
uint key_of_score(float score) {
  if (is_nan(score)) score = -kInfinity;
  const uint bits = score == 0 ? 0 : floatBitsToUint(score);  // of both zeros
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

// How many threads before this one say yes, and (y) how many all together.
uvec2 count_before(bool yes) {
  const uint lane = gl_SubgroupInvocationID;
  const uvec4 votes = subgroupBallot(yes);
  const uint before = subgroupBallotExclusiveBitCount(votes);
  barrier();
  if (lane == 0) group_counts[gl_SubgroupID] = subgroupBallotBitCount(votes);
  barrier();
  uvec2 counts = uvec2(before, 0);
  for (uint i = 0; i < gl_NumSubgroups; ++i) {
    if (i < gl_SubgroupID) counts.x += group_counts[i];
    counts.y += group_counts[i];
  }
  return counts;
}

uint key_at(uint i, uint items) { return items <= kKeptKeys ? kept_keys[i] : key_of(i); }

// Writes wanted numbers to to.at[first ..], -1 where there are fewer items.
void choose(uint items, uint wanted, Ints to, uint first) {
  const uint thread = gl_LocalInvocationID.x;
  for (uint i = items + thread; i < wanted; i += kThreads) to.at[first + i] = -1;
  if (items <= wanted) {
    for (uint i = thread; i < items; i += kThreads) to.at[first + i] = int(number_of(i));
    return;
  }
  for (uint i = thread; i < items && items <= kKeptKeys; i += kThreads) kept_keys[i] = key_of(i);
  uint limit = 0;  // the digits of the last key that is in, as far as they are known
  uint known = 0;  // their bits
  uint left = wanted;  // how many of the items whose key begins so are in
  for (uint shift = 32; shift > 0;) {
    shift -= 8;
    for (uint i = thread; i < 256; i += kThreads) digits[i] = 0;
    barrier();
    for (uint i = thread; i < items; i += kThreads) {
      const uint key = key_at(i, items);
      if ((key & known) == limit) atomicAdd(digits[key >> shift & 255u], 1u);
    }
    barrier();
    if (thread == 0) {
      uint digit = 255;
      uint more = left;
      while (digits[digit] < more) more -= digits[digit--];
      chosen_digit = digit;
      wanted_of_digit = more;
    }
    barrier();
    limit |= chosen_digit << shift;
    known |= 255u << shift;
    left = wanted_of_digit;
    barrier();
  }
  uint written = 0;
  uint equal = 0;
  for (uint chunk = 0; chunk < items && written < wanted; chunk += kThreads) {
    const uint i = chunk + thread;
    const uint key = i < items ? key_at(i, items) : 0;
    const bool is_equal = i < items && key == limit;
    const uvec2 equals = count_before(is_equal);
    const bool is_in = i < items && (key > limit || is_equal && equal + equals.x < left);
    const uvec2 ins = count_before(is_in);
    if (is_in) to.at[first + written + ins.x] = int(number_of(i));
    written += ins.y;
    equal += equals.y;
  }
}
