// The tokens that are left of a draw, and cuts that keep the fewest of the best that have a mass: radix selection,
// digit by digit, over the masses of all digits (top-k: a token's mass is 1, top-p: its weight).
#pragma once

#include "backends/cuda/kernels/device.h"
#include "backends/gpu/draw_arithmetic.h"

namespace tenon::cuda {

// Above -infinity, which is what may not be drawn.
inline constexpr uint kLeastKey = 0x00800000u;
inline constexpr uint kNoToken = 0xFFFFFFFFu;

struct Mass {
  uint64_t before;  // of the threads before this one
  uint64_t all;
};

// All threads of the group call this: sums in the order of threads.
TENON_DEVICE Mass mass_before(uint64_t own) {
  TENON_SHARED(uint64_t, thread_masses, gpu::kDrawThreads);
  const uint thread = thread_number();
  barrier();
  thread_masses[thread] = own;
  for (uint far = 1; far < gpu::kDrawThreads; far *= 2) {
    barrier();
    const uint64_t other = thread >= far ? thread_masses[thread - far] : 0;
    barrier();
    thread_masses[thread] += other;
  }
  barrier();
  return {thread_masses[thread] - own, thread_masses[gpu::kDrawThreads - 1]};
}

struct DrawLeft {
  const gpu::DeviceDraw& draw;
  float largest = 0;
  float most_behind = infinity();  // min_p, once it is its turn
  // Left are larger keys than this, and with this key the tokens up to the last one.
  uint last_key = kLeastKey;
  uint last_token = kNoToken;

  TENON_DEVICE float logit_of(uint token) const { return Floats(draw.row).at[token]; }
  TENON_DEVICE uint key_of(uint token) const {
    return gpu::draw_key(float_to_bits(logit_of(token)));
  }
  TENON_DEVICE bool is_left(uint token) const {
    const uint key = key_of(token);
    return (key > last_key || (key == last_key && token <= last_token)) &&
           largest - logit_of(token) <= most_behind;
  }
  TENON_DEVICE uint64_t weight_of(uint token, uint rate, int shift) const {
    return gpu::draw_weight(float_to_bits(largest - logit_of(token)), rate, shift);
  }
  TENON_DEVICE uint64_t mass_of(uint token, bool by_weight) const {
    return by_weight ? weight_of(token, gpu::kNaturalRate, int(gpu::kNaturalShift)) : 1;
  }

  // Of what is left.
  TENON_DEVICE uint64_t whole_mass(bool by_weight) const {
    uint64_t own = 0;
    for (uint i = thread_number(); i < draw.vocab; i += gpu::kDrawThreads) {
      if (is_left(i)) own += mass_of(i, by_weight);
    }
    return mass_before(own).all;
  }

  // Tokens of this thread where they are taken in order.
  TENON_DEVICE Pair neighbours() const {
    const uint each = (draw.vocab + gpu::kDrawThreads - 1) / gpu::kDrawThreads;
    const uint begin = thread_number() * each;
    const uint end = begin + each;
    return {begin, end < draw.vocab ? end : draw.vocab};
  }

  // Keeps as few of the largest keys, of equal ones the lower tokens, as have the mass `goal`, which what is left
  // has.
  TENON_DEVICE void cut(bool by_weight, uint64_t goal) {
    TENON_SHARED(uint, lows, 256);  // masses of digits, 64 bits in two words
    TENON_SHARED(uint, highs, 256);
    TENON_SHARED(uint, chosen, 1);
    TENON_SHARED(uint64_t, goal_left, 1);
    const uint thread = thread_number();
    uint key = 0;
    uint known = 0;  // bits of `key` that are found
    for (uint shift = 32; shift > 0;) {
      shift -= 8;
      for (uint i = thread; i < 256; i += gpu::kDrawThreads) lows[i] = highs[i] = 0;
      barrier();
      for (uint i = thread; i < draw.vocab; i += gpu::kDrawThreads) {
        const uint own = key_of(i);
        if ((own & known) != key || !is_left(i)) continue;
        const uint64_t mass = mass_of(i, by_weight);
        const uint digit = own >> shift & 255u;
        const uint before = fetch_add_shared(&lows[digit], uint(mass));
        const uint carry = uint(before + uint(mass)) < before ? 1 : 0;
        add_shared(&highs[digit], uint(mass >> 32) + carry);
      }
      barrier();
      // The digit in which the sum from the largest one down reaches the goal.
      constexpr uint kDigits = 256 / gpu::kDrawThreads;  // of a thread
      const uint first = 255 - thread * kDigits;
      const auto mass_of_digit = [&](uint digit) {
        return uint64_t{highs[digit]} << 32 | lows[digit];
      };
      uint64_t own = 0;
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
      goal = goal_left[0];
      key |= chosen[0] << shift;
      known |= 255u << shift;
      barrier();
    }
    // Of the last key as many as it takes.
    const Pair tokens = neighbours();
    uint64_t own = 0;
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
};

}  // namespace tenon::cuda
