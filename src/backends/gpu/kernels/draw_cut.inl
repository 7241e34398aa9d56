// Tokens that are left of a draw, and cuts that keep the fewest of the best with a given mass:
// radix selection over the masses of all digits. A token's mass is 1 for top-k, its weight for
// top-p. Included by draw.inl.

TENON_VARIABLE(DeviceDraw, draw);
float largest = 0;
float most_behind = infinity();  // min_p, once its turn comes

// Tokens with larger keys are left, and with this key those up to last_token.
uint last_key = kLeastDrawKey;
uint last_token = kNoToken;

TENON_GROUP_ARRAY(uint64_t, thread_masses, kDrawThreads)
TENON_GROUP_ARRAY(uint, digit_lows, 256)  // masses of 64 bits in two words
TENON_GROUP_ARRAY(uint, digit_highs, 256)
TENON_GROUP_ARRAY(uint, chosen, 1)
TENON_GROUP_ARRAY(uint64_t, goal_left, 1)

struct Mass {
  uint64_t before;  // of the threads before this one
  uint64_t all;
};

// Prefix sums in the order of threads. All threads of the group call it.
TENON_DEVICE Mass mass_before(uint64_t own) {
  const uint thread = thread_number();
  barrier();
  thread_masses[thread] = own;
  for (uint far = 1; far < kDrawThreads; far *= 2) {
    barrier();
    const uint64_t other = thread >= far ? thread_masses[thread - far] : uint64_t(0);
    barrier();
    thread_masses[thread] += other;
  }
  barrier();
  return TENON_MAKE(Mass)(thread_masses[thread] - own, thread_masses[kDrawThreads - 1]);
}

TENON_DEVICE float logit_of(uint token) { return SharedFloats(draw.row).at[token]; }
TENON_DEVICE uint key_of(uint token) { return draw_key(float_to_bits(logit_of(token))); }

TENON_DEVICE bool is_left(uint token) {
  const uint key = key_of(token);
  return (key > last_key || (key == last_key && token <= last_token)) &&
         largest - logit_of(token) <= most_behind;
}

TENON_DEVICE uint64_t weight_of(uint token, uint rate, int shift) {
  return draw_weight(float_to_bits(largest - logit_of(token)), rate, shift);
}
TENON_DEVICE uint64_t mass_of(uint token, bool by_weight) {
  return by_weight ? weight_of(token, kNaturalRate, int(kNaturalShift)) : uint64_t(1);
}

// Mass of the tokens that are left.
TENON_DEVICE uint64_t whole_mass(bool by_weight) {
  uint64_t own = uint64_t(0);
  for (uint i = thread_number(); i < draw.vocab; i += kDrawThreads) {
    if (is_left(i)) own += mass_of(i, by_weight);
  }
  return mass_before(own).all;
}

// Tokens [x, y) of this thread, if threads take tokens in order.
TENON_DEVICE Pair neighbours() {
  const uint each = (draw.vocab + kDrawThreads - 1) / kDrawThreads;
  const uint begin = thread_number() * each;
  return Pair(begin, smaller(begin + each, draw.vocab));
}

TENON_DEVICE void add_to_digit(uint digit, uint64_t mass) {
  const uint low = uint(mass & uint64_t(0xFFFFFFFFu));
  const uint before = fetch_add_shared(digit_lows[digit], low);
  const uint high = uint(mass >> 32) + (before + low < before ? 1u : 0u);
  if (high != 0) add_shared(digit_highs[digit], high);
}
TENON_DEVICE uint64_t mass_of_digit(uint digit) {
  return uint64_t(digit_highs[digit]) << 32 | uint64_t(digit_lows[digit]);
}

// Finds the digit in which the sum from the largest digit down reaches the goal. Writes the digit
// to `chosen`, the rest of the goal to `goal_left`.
TENON_DEVICE void choose_digit(uint64_t goal) {
  const uint kDigits = 256 / kDrawThreads;  // of a thread
  const uint first = 255 - thread_number() * kDigits;
  uint64_t own = uint64_t(0);
  for (uint i = 0; i < kDigits; ++i) own += mass_of_digit(first - i);
  const uint64_t before = mass_before(own).before;
  if (before < goal && goal <= before + own) {
    uint64_t left = goal - before;
    uint digit = first;
    while (mass_of_digit(digit) < left) left -= mass_of_digit(digit--);
    chosen[0] = digit;
    goal_left[0] = left;
  }
  barrier();
}

// Keeps the fewest of the largest keys whose mass reaches `goal`; ties go to the lower token. The
// tokens that are left have at least this mass.
TENON_DEVICE void cut(bool by_weight, uint64_t goal) {
  const uint thread = thread_number();
  uint key = 0;
  uint known = 0;  // bits of `key` that are found
  for (uint shift = 32; shift > 0;) {
    shift -= 8;
    for (uint i = thread; i < 256; i += kDrawThreads) digit_lows[i] = digit_highs[i] = 0;
    barrier();
    for (uint i = thread; i < draw.vocab; i += kDrawThreads) {
      const uint own = key_of(i);
      if ((own & known) == key && is_left(i)) {
        add_to_digit(own >> shift & 255u, mass_of(i, by_weight));
      }
    }
    barrier();
    choose_digit(goal);
    goal = goal_left[0];
    key |= chosen[0] << shift;
    known |= 255u << shift;
    barrier();
  }
  // Tokens with the last key, as many as the goal takes.
  const Pair tokens = neighbours();
  uint64_t own = uint64_t(0);
  for (uint i = tokens.x; i < tokens.y; ++i) {
    if (key_of(i) == key && is_left(i)) own += mass_of(i, by_weight);
  }
  const uint64_t before = mass_before(own).before;
  if (before < goal && goal <= before + own) {
    uint64_t sum = before;
    for (uint i = tokens.x; i < tokens.y && sum < goal; ++i) {
      if (key_of(i) != key || !is_left(i)) continue;
      sum += mass_of(i, by_weight);
      chosen[0] = i;
    }
  }
  barrier();
  last_key = key;
  last_token = chosen[0];
  barrier();
}
