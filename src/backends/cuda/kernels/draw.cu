// draw: a group for each draw. Biases and masks, then the cuts of the chain, then a token; sums are of whole numbers
// (gpu/draw_arithmetic.h), so their order is of no account.
#include "backends/cuda/kernels/device.h"
#include "backends/cuda/kernels/device_draw_cut.h"

namespace tenon::cuda {

struct Draw {
  gpu::DrawStage stage;
  Constants constants;

  static constexpr uint kGreedy = 1, kCandidates = 3;      // TENON_DRAW_*
  static constexpr uint kNotFinite = 1, kNoneAllowed = 2;  // TENON_DRAWN_*

  TENON_DEVICE void write_result(const DrawLeft& left, uint token, uint64_t mass,
                                 uint num_candidates, uint flags) const {
    if (thread_number() != 0) return;
    const float logit = token == kNoToken ? 0 : left.logit_of(token);
    *reinterpret_cast<gpu::DrawResult*>(left.draw.result) = {
        mass, left.largest, logit, token, num_candidates, flags, 0};
    if (left.draw.token != 0) Ints(left.draw.token).at[0] = token == kNoToken ? 0 : int(token);
  }

  TENON_DEVICE static bool is_allowed(const gpu::DeviceDraw& draw, uint token) {
    return draw.allowed == 0 || (Words(draw.allowed).at[token / 32] >> token % 32 & 1u) != 0;
  }

  // Fills draw.row. False where a logit is not finite.
  TENON_DEVICE static bool prepare_row(const gpu::DeviceDraw& draw) {
    TENON_SHARED(uint, not_finite, 1);
    const uint thread = thread_number();
    Floats logits(draw.logits);
    Floats row(draw.row);
    if (thread == 0) not_finite[0] = 0;
    barrier();
    for (uint i = thread; i < draw.vocab; i += gpu::kDrawThreads) {
      const float logit = logits.at[i];
      if ((float_to_bits(logit) & 0x7F800000u) == 0x7F800000u) not_finite[0] = 1;
      row.at[i] = is_allowed(draw, i) ? logit : -infinity();
    }
    barrier();
    const Array<const gpu::DrawBias> biases(draw.biases);
    for (uint i = thread; i < draw.num_biases; i += gpu::kDrawThreads) {
      const gpu::DrawBias bias = biases.at[i];
      if (is_allowed(draw, bias.token)) row.at[bias.token] = logits.at[bias.token] + bias.bias;
    }
    barrier();
    return not_finite[0] == 0;
  }

  // The lowest token of the largest key, or kNoToken.
  TENON_DEVICE static uint best_token(const DrawLeft& left) {
    TENON_SHARED(uint, keys, gpu::kDrawThreads);
    TENON_SHARED(uint, tokens, gpu::kDrawThreads);
    const uint thread = thread_number();
    uint key = 0;
    uint token = kNoToken;
    for (uint i = thread; i < left.draw.vocab; i += gpu::kDrawThreads) {
      const uint own = left.key_of(i);
      if (own <= key) continue;
      key = own;
      token = i;
    }
    keys[thread] = key;
    tokens[thread] = token;
    barrier();
    for (uint i = 0; i < gpu::kDrawThreads; ++i) {
      if (keys[i] < key || (keys[i] == key && tokens[i] >= token)) continue;
      key = keys[i];
      token = tokens[i];
    }
    return key < kLeastKey ? kNoToken : token;
  }

  // In any order: those which are left. How many.
  TENON_DEVICE static uint write_candidates(const DrawLeft& left) {
    TENON_SHARED(uint, written, 1);
    if (thread_number() == 0) written[0] = 0;
    barrier();
    Array<gpu::DrawCandidate> candidates(left.draw.candidates);
    for (uint i = thread_number(); i < left.draw.vocab; i += gpu::kDrawThreads) {
      if (left.is_left(i)) {
        candidates.at[fetch_add_shared(&written[0], 1)] = {i, left.logit_of(i)};
      }
    }
    barrier();
    return written[0];
  }

  // Where the sum of weights in the order of tokens passes the random number.
  TENON_DEVICE static uint drawn_token(const DrawLeft& left) {
    TENON_SHARED(uint, chosen, 1);
    const gpu::DeviceDraw& draw = left.draw;
    const Pair tokens = left.neighbours();
    uint64_t own = 0;
    for (uint i = tokens.x; i < tokens.y; ++i) {
      if (left.is_left(i)) own += left.weight_of(i, draw.rate, draw.shift);
    }
    const Mass mass = mass_before(own);
    const uint64_t target = gpu::draw_product(mass.all, draw.random);
    if (mass.before <= target && target < mass.before + own) {
      uint64_t sum = mass.before;
      for (uint i = tokens.x; i < tokens.y && sum <= target; ++i) {
        if (!left.is_left(i)) continue;
        sum += left.weight_of(i, draw.rate, draw.shift);
        chosen[0] = i;
      }
    }
    barrier();
    return chosen[0];
  }

  TENON_DEVICE void run() const {
    const gpu::DeviceDraw draw = Array<const gpu::DeviceDraw>(stage.draws).at[group_y()];
    DrawLeft left{draw};
    if (!prepare_row(draw)) return write_result(left, kNoToken, 0, 0, kNotFinite);
    const uint best = best_token(left);
    if (best == kNoToken) return write_result(left, kNoToken, 0, 0, kNoneAllowed);
    left.largest = left.logit_of(best);
    const uint64_t mass = left.whole_mass(true);
    if (draw.kind == kGreedy) return write_result(left, best, mass, 0, 0);

    const uint count = draw.kind == kCandidates ? draw.num_candidates : draw.top_k;
    if (count > 0 && count < left.whole_mass(false)) left.cut(false, count);
    if (draw.kind == kCandidates) {
      return write_result(left, kNoToken, mass, write_candidates(left), 0);
    }
    if (draw.cuts_top_p != 0) {
      left.cut(true, gpu::draw_goal(left.whole_mass(true), draw.top_p));
    }
    left.most_behind = draw.most_behind;
    write_result(left, drawn_token(left), mass, 0, 0);
  }
};

}  // namespace tenon::cuda

TENON_ENTRY(draw, true, tenon::cuda::Draw)
