// The tokens that are left of a draw, and cuts that keep the fewest of the best that have a mass: radix selection,
// digit by digit, over the masses of all digits (top-k: a token's mass is 1, top-p: its weight).

// Above -infinity, which is what may not be drawn.
const uint kLeastKey = 0x00800000u;
const uint kNoToken = 0xFFFFFFFFu;

// Left are larger keys than this, and with this key the tokens up to the last one.
uint last_key = kLeastKey;
uint last_token = kNoToken;

shared uint digit_lows[256];  // masses of 64 bits in two words
shared uint digit_highs[256];
shared uint chosen;
shared uint64_t goal_left;

float logit_of(uint token) { return SharedFloats(draw.row).at[token]; }
uint key_of(uint token) { return draw_key(floatBitsToUint(logit_of(token))); }

bool is_left(uint token) {
  const uint key = key_of(token);
  return (key > last_key || key == last_key && token <= last_token) &&
         largest - logit_of(token) <= most_behind;
}

uint64_t weight_of(uint token, uint rate, int shift) {
  return draw_weight(floatBitsToUint(largest - logit_of(token)), rate, shift);
}

uint64_t mass_of(uint token, bool by_weight) {
  return by_weight ? weight_of(token, kNaturalRate, int(kNaturalShift)) : uint64_t(1);
}

// Of what is left.
uint64_t whole_mass(bool by_weight) {
  uint64_t own = uint64_t(0);
  for (uint i = gl_LocalInvocationID.x; i < draw.vocab; i += kDrawThreads) {
    if (is_left(i)) own += mass_of(i, by_weight);
  }
  uint64_t all;
  mass_before(own, all);
  return all;
}

void add_to_digit(uint digit, uint64_t mass) {
  const uint low = uint(mass & uint64_t(0xFFFFFFFFu));
  const uint before = atomicAdd(digit_lows[digit], low);
  const uint high = uint(mass >> 32) + (before + low < before ? 1u : 0u);
  if (high != 0) atomicAdd(digit_highs[digit], high);
}

uint64_t digit_mass(uint digit) {
  return uint64_t(digit_highs[digit]) << 32 | uint64_t(digit_lows[digit]);
}

// The digit in which the sum from the largest one down reaches `goal`, and in `goal` what is wanted of it.
uint choose_digit(inout uint64_t goal) {
  const uint kDigits = 256 / kDrawThreads;  // of a thread
  const uint first = 255 - gl_LocalInvocationID.x * kDigits;
  uint64_t own = uint64_t(0);
  for (uint i = 0; i < kDigits; ++i) own += digit_mass(first - i);
  uint64_t all;
  const uint64_t before = mass_before(own, all);
  if (before < goal && goal <= before + own) {
    uint64_t left = goal - before;
    uint digit = first;
    while (digit_mass(digit) < left) left -= digit_mass(digit--);
    chosen = digit;
    goal_left = left;
  }
  barrier();
  goal = goal_left;
  return chosen;
}

// Keeps as few of the largest keys, of equal ones the lower tokens, as have the mass `goal`, which what is left has.
void cut(bool by_weight, uint64_t goal) {
  const uint thread = gl_LocalInvocationID.x;
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
    key |= choose_digit(goal) << shift;
    known |= 255u << shift;
    barrier();
  }
  // Of the last key as many as it takes; each thread has neighbouring tokens.
  const uint per_thread = (draw.vocab + kDrawThreads - 1) / kDrawThreads;
  const uint begin = thread * per_thread;
  const uint end = min(begin + per_thread, draw.vocab);
  uint64_t own = uint64_t(0);
  for (uint i = begin; i < end; ++i) {
    if (key_of(i) == key && is_left(i)) own += mass_of(i, by_weight);
  }
  uint64_t all;
  const uint64_t before = mass_before(own, all);
  if (before < goal && goal <= before + own) {
    uint64_t sum = before;
    for (uint i = begin; i < end && sum < goal; ++i) {
      if (key_of(i) != key || !is_left(i)) continue;
      sum += mass_of(i, by_weight);
      chosen = i;
    }
  }
  barrier();
  last_key = key;
  last_token = chosen;
  barrier();
}
