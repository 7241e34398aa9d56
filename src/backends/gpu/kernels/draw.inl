// draw: a group per draw. Biases and masks, then the cuts of the chain, then a token. Sums are of
// whole numbers (gpu/draw_arithmetic.h), so their order does not matter.
#include "backends/gpu/kernels/draw_cut.inl"

TENON_GROUP_ARRAY(uint, not_finite, 1)
TENON_GROUP_ARRAY(uint, written, 1)
TENON_GROUP_ARRAY(uint, best_keys, kDrawThreads)
TENON_GROUP_ARRAY(uint, best_tokens, kDrawThreads)

TENON_DEVICE void write_result(uint token, uint64_t mass, uint num_candidates, uint flags) {
  if (thread_number() != 0) return;
  const float logit = token == kNoToken ? 0 : logit_of(token);
  Results(draw.result).at[0] =
      TENON_MAKE(DrawResult)(mass, largest, logit, token, num_candidates, flags, 0u);
  if (draw.token != 0) Ints(draw.token).at[0] = token == kNoToken ? 0 : int(token);
}

TENON_DEVICE bool is_allowed(uint token) {
  return draw.allowed == 0 || (Words(draw.allowed).at[token / 32] >> token % 32 & 1u) != 0;
}

// Fills draw.row. Returns false if a logit is not finite.
TENON_DEVICE bool prepare_row() {
  const uint thread = thread_number();
  Floats logits = Floats(draw.logits);
  SharedFloats row = SharedFloats(draw.row);
  if (thread == 0) not_finite[0] = 0;
  barrier();
  for (uint i = thread; i < draw.vocab; i += kDrawThreads) {
    const float logit = logits.at[i];
    if ((float_to_bits(logit) & 0x7F800000u) == 0x7F800000u) not_finite[0] = 1;
    row.at[i] = is_allowed(i) ? logit : -infinity();
  }
  memory_barrier();
  for (uint i = thread; i < draw.num_biases; i += kDrawThreads) {
    const DrawBias bias = Biases(draw.biases).at[i];
    if (is_allowed(bias.token)) row.at[bias.token] = logits.at[bias.token] + bias.bias;
  }
  memory_barrier();
  return not_finite[0] == 0;
}

// The lowest token of the largest key, or kNoToken.
TENON_DEVICE uint best_token() {
  const uint thread = thread_number();
  uint key = 0;
  uint token = kNoToken;
  for (uint i = thread; i < draw.vocab; i += kDrawThreads) {
    const uint own = key_of(i);
    if (own <= key) continue;
    key = own;
    token = i;
  }
  best_keys[thread] = key;
  best_tokens[thread] = token;
  barrier();
  for (uint i = 0; i < kDrawThreads; ++i) {
    if (best_keys[i] < key || (best_keys[i] == key && best_tokens[i] >= token)) continue;
    key = best_keys[i];
    token = best_tokens[i];
  }
  return key < kLeastDrawKey ? kNoToken : token;
}

// Writes the tokens that are left, in any order. Returns their number.
TENON_DEVICE uint write_candidates() {
  if (thread_number() == 0) written[0] = 0;
  barrier();
  Candidates candidates = Candidates(draw.candidates);
  for (uint i = thread_number(); i < draw.vocab; i += kDrawThreads) {
    if (!is_left(i)) continue;
    const uint at = fetch_add_shared(written[0], 1u);
    candidates.at[at] = TENON_MAKE(DrawCandidate)(i, logit_of(i));
  }
  barrier();
  return written[0];
}

// Token at which the sum of weights, in token order, passes the random number.
TENON_DEVICE uint drawn_token() {
  const Pair tokens = neighbours();
  uint64_t own = uint64_t(0);
  for (uint i = tokens.x; i < tokens.y; ++i) {
    if (is_left(i)) own += weight_of(i, draw.rate, draw.shift);
  }
  const Mass mass = mass_before(own);
  const uint64_t target = draw_product(mass.all, draw.random);
  if (mass.before <= target && target < mass.before + own) {
    uint64_t sum = mass.before;
    for (uint i = tokens.x; i < tokens.y && sum <= target; ++i) {
      if (!is_left(i)) continue;
      sum += weight_of(i, draw.rate, draw.shift);
      chosen[0] = i;
    }
  }
  barrier();
  return chosen[0];
}

// Draws among the allowed tokens, of which `token` is the best.
TENON_DEVICE void finish(uint token) {
  largest = logit_of(token);
  const uint64_t mass = whole_mass(true);
  if (draw.kind == kDrawGreedy) {
    write_result(token, mass, 0, 0);
    return;
  }
  const uint count = draw.kind == kDrawCandidates ? draw.num_candidates : draw.top_k;
  if (count > 0 && uint64_t(count) < whole_mass(false)) cut(false, uint64_t(count));
  if (draw.kind == kDrawCandidates) {
    write_result(kNoToken, mass, write_candidates(), 0);
    return;
  }
  if (draw.cuts_top_p != 0) cut(true, draw_goal(whole_mass(true), draw.top_p));
  most_behind = draw.most_behind;
  write_result(drawn_token(), mass, 0, 0);
}

TENON_DEVICE void run() {
  draw = Draws(stage.draws).at[group_y()];
  const bool is_finite = prepare_row();
  const uint token = is_finite ? best_token() : kNoToken;
  if (token != kNoToken) {
    finish(token);
  } else {
    write_result(kNoToken, uint64_t(0), 0, is_finite ? kDrawnNoneAllowed : kDrawnNotFinite);
  }
}
