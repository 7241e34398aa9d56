// The numbers of the `wanted` items of the largest keys, of equal ones the lower number, in ascending order: four
// passes find the last key that is in, digit by digit (radix selection), and a fifth writes. Keys of few items are
// kept between the passes; those of more are computed anew, since no memory is planned for them.
#pragma once

#include "backends/cuda/kernels/device_reduce.h"

namespace tenon::cuda {

inline constexpr uint kKeptKeys = 2048;  // kKeptKeys of gpu/stage_operations.cpp

// A key that is larger where the score is; what is no number is -infinity.
TENON_DEVICE uint key_of_score(float score) {
  if (is_nan(score)) score = -infinity();
  const uint bits = score == 0 ? 0 : float_to_bits(score);  // of both zeros
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

// How many threads before this one say yes, and (y) how many all together.
TENON_DEVICE Pair count_before(bool yes) {
  TENON_SHARED(uint, group_counts, kMostThreads / kWarp);
  const uint votes = ballot(yes);
  const uint before = count_bits(votes & ((1u << lane()) - 1u));
  barrier();
  if (lane() == 0) group_counts[warp()] = count_bits(votes);
  barrier();
  Pair counts{before, 0};
  for (uint i = 0; i < num_warps(); ++i) {
    if (i < warp()) counts.x += group_counts[i];
    counts.y += group_counts[i];
  }
  return counts;
}

// Writes wanted numbers to to.at[first ..], -1 where there are fewer items.
///   key_of  the key of an item by its place, and its number; what all threads of the group agree on. Numbers
///           ascend with places.
template <typename KeyOf>
TENON_DEVICE void choose(const KeyOf& key_of, uint items, uint wanted, Ints to, uint first) {
  TENON_SHARED(uint, kept_keys, kKeptKeys);
  TENON_SHARED(uint, digits, 256);
  TENON_SHARED(uint, chosen_digit, 1);
  TENON_SHARED(uint, wanted_of_digit, 1);
  const uint thread = thread_number();
  for (uint i = items + thread; i < wanted; i += num_threads()) to.at[first + i] = -1;
  if (items <= wanted) {
    for (uint i = thread; i < items; i += num_threads()) to.at[first + i] = int(key_of.number(i));
    return;
  }
  for (uint i = thread; i < items && items <= kKeptKeys; i += num_threads())
    kept_keys[i] = key_of(i);
  uint limit = 0;      // the digits of the last key that is in, as far as they are known
  uint known = 0;      // their bits
  uint left = wanted;  // how many of the items whose key begins so are in
  for (uint shift = 32; shift > 0;) {
    shift -= 8;
    for (uint i = thread; i < 256; i += num_threads()) digits[i] = 0;
    barrier();
    for (uint i = thread; i < items; i += num_threads()) {
      const uint key = (items <= kKeptKeys ? kept_keys[i] : key_of(i));
      if ((key & known) == limit) add_shared(&digits[key >> shift & 255u], 1u);
    }
    barrier();
    if (thread == 0) {
      uint digit = 255;
      uint more = left;
      while (digits[digit] < more) more -= digits[digit--];
      chosen_digit[0] = digit;
      wanted_of_digit[0] = more;
    }
    barrier();
    limit |= chosen_digit[0] << shift;
    known |= 255u << shift;
    left = wanted_of_digit[0];
    barrier();
  }
  uint written = 0;
  uint equal = 0;
  for (uint chunk = 0; chunk < items && written < wanted; chunk += num_threads()) {
    const uint i = chunk + thread;
    const uint key = i < items ? (items <= kKeptKeys ? kept_keys[i] : key_of(i)) : 0;
    const bool is_equal = i < items && key == limit;
    const Pair equals = count_before(is_equal);
    const bool is_in = i < items && (key > limit || (is_equal && equal + equals.x < left));
    const Pair ins = count_before(is_in);
    if (is_in) to.at[first + written + ins.x] = int(key_of.number(i));
    written += ins.y;
    equal += equals.y;
  }
}

}  // namespace tenon::cuda
