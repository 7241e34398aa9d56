// Radix selection: the numbers of the `wanted` items with the largest keys, in ascending order.
// Ties go to the lower number. Four passes find the smallest chosen key, a digit each; a fifth
// writes. Keys of up to kKeptKeys items are kept between passes; more are computed in each
// pass, since no memory is planned for them. Included by kernels that have key_of(place) and
// number_of(place); numbers ascend with places.

TENON_GROUP_ARRAY(uint, kept_keys, kKeptKeys)
TENON_GROUP_ARRAY(uint, digits, 256)
TENON_GROUP_ARRAY(uint, chosen_digit, 1)
TENON_GROUP_ARRAY(uint, wanted_of_digit, 1)
TENON_GROUP_ARRAY(uint, group_counts, kMostWarps)

// Number of threads before this one that say yes (x), and of all that do (y).
TENON_DEVICE Pair count_before(bool yes) {
  const Pair votes = warp_votes(yes);
  barrier();
  if (lane() == 0) group_counts[warp()] = votes.y;
  barrier();
  Pair counts = Pair(votes.x, 0);
  for (uint i = 0; i < num_warps(); ++i) {
    if (i < warp()) counts.x += group_counts[i];
    counts.y += group_counts[i];
  }
  return counts;
}

TENON_DEVICE uint key_at(uint i, uint items) {
  return items <= kKeptKeys ? kept_keys[i] : key_of(i);
}

// Writes the wanted numbers to to.at[first ..], then -1 if there are fewer items.
TENON_DEVICE void choose(uint items, uint wanted, Ints to, uint first) {
  const uint thread = thread_number();
  for (uint i = items + thread; i < wanted; i += num_threads()) to.at[first + i] = -1;
  if (items <= wanted) {
    for (uint i = thread; i < items; i += num_threads()) to.at[first + i] = int(number_of(i));
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
      const uint key = key_at(i, items);
      if ((key & known) == limit) add_shared(digits[key >> shift & 255u], 1u);
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
    const uint key = i < items ? key_at(i, items) : 0;
    const bool is_equal = i < items && key == limit;
    const Pair equals = count_before(is_equal);
    const bool is_in = i < items && (key > limit || (is_equal && equal + equals.x < left));
    const Pair ins = count_before(is_in);
    if (is_in) to.at[first + written + ins.x] = int(number_of(i));
    written += ins.y;
    equal += equals.y;
  }
}
