// draw: a workgroup for each draw. Biases and masks, then the cuts of the chain, then a token; sums are of whole
// numbers (gpu/draw_arithmetic.h), so their order is of no account.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "backends/gpu/draw_arithmetic.h"

layout(buffer_reference, scalar) readonly buffer Parameters { DrawStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Draws {
  DeviceDraw at[];
};
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Biases {
  DrawBias at[];
};
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer Candidates {
  DrawCandidate at[];
};
layout(buffer_reference, scalar, buffer_reference_align = 8) writeonly buffer Result {
  DrawResult result;
};

const uint kGreedy = 1, kDrawn = 2, kCandidates = 3;  // TENON_DRAW_*
const uint kNotFinite = 1, kNoneAllowed = 2;          // TENON_DRAWN_*

DeviceDraw draw;
float largest = 0;
float most_behind = kInfinity;  // min_p, once it is its turn

shared uint group_flags;
shared uint group_key;
shared uint group_token;

#include "draw_scan.glsl"
#include "draw_cut.glsl"

void write_result(uint token, uint64_t mass, uint num_candidates, uint flags) {
  if (gl_LocalInvocationID.x != 0) return;
  const float logit = token == kNoToken ? 0 : logit_of(token);
  Result(draw.result).result =
      DrawResult(mass, largest, logit, token, num_candidates, flags, 0);
  if (draw.token != 0) Ints(draw.token).at[0] = token == kNoToken ? 0 : int(token);
}

bool is_allowed(uint token) {
  return draw.allowed == 0 || (Words(draw.allowed).at[token / 32] >> token % 32 & 1u) != 0;
}

// Fills draw.row. False where a logit is not finite.
bool prepare_row() {
  const uint thread = gl_LocalInvocationID.x;
  Floats logits = Floats(draw.logits);
  SharedFloats row = SharedFloats(draw.row);
  if (thread == 0) group_flags = group_key = 0;
  if (thread == 0) group_token = kNoToken;
  barrier();
  uint flags = 0;
  for (uint i = thread; i < draw.vocab; i += kDrawThreads) {
    const float logit = logits.at[i];
    if ((floatBitsToUint(logit) & 0x7F800000u) == 0x7F800000u) flags = kNotFinite;
    row.at[i] = is_allowed(i) ? logit : -kInfinity;
  }
  if (flags != 0) atomicOr(group_flags, flags);
  memoryBarrierBuffer();
  barrier();
  for (uint i = thread; i < draw.num_biases; i += kDrawThreads) {
    const DrawBias bias = Biases(draw.biases).at[i];
    if (is_allowed(bias.token)) row.at[bias.token] = logits.at[bias.token] + bias.bias;
  }
  memoryBarrierBuffer();
  barrier();
  return group_flags == 0;
}

// The lowest token of the largest key, or kNoToken.
uint best_token() {
  const uint thread = gl_LocalInvocationID.x;
  uint key = 0;
  for (uint i = thread; i < draw.vocab; i += kDrawThreads) key = max(key, key_of(i));
  atomicMax(group_key, key);
  barrier();
  if (group_key < kLeastKey) return kNoToken;
  for (uint i = thread; i < draw.vocab; i += kDrawThreads) {
    if (key_of(i) != group_key) continue;
    atomicMin(group_token, i);
    break;
  }
  barrier();
  return group_token;
}

// In any order: those which are left.
void write_candidates() {
  for (uint i = gl_LocalInvocationID.x; i < draw.vocab; i += kDrawThreads) {
    if (!is_left(i)) continue;
    const uint at = atomicAdd(group_flags, 1u);
    Candidates(draw.candidates).at[at] = DrawCandidate(i, logit_of(i));
  }
  barrier();
}

// Where the sum of weights in the order of tokens passes the random number.
uint drawn_token() {
  const uint per_thread = (draw.vocab + kDrawThreads - 1) / kDrawThreads;
  const uint begin = gl_LocalInvocationID.x * per_thread;
  const uint end = min(begin + per_thread, draw.vocab);
  uint64_t own = uint64_t(0);
  for (uint i = begin; i < end; ++i) {
    if (is_left(i)) own += weight_of(i, draw.rate, draw.shift);
  }
  uint64_t all;
  const uint64_t before = mass_before(own, all);
  const uint64_t target = draw_product(all, draw.random);
  if (before <= target && target < before + own) {
    uint64_t sum = before;
    for (uint i = begin; i < end && sum <= target; ++i) {
      if (!is_left(i)) continue;
      sum += weight_of(i, draw.rate, draw.shift);
      chosen = i;
    }
  }
  barrier();
  return chosen;
}

// What is drawn once the tokens that may not be are out; `token` is the best.
void finish(uint token) {
  largest = logit_of(token);
  const uint64_t mass = whole_mass(true);
  if (draw.kind == kGreedy) {
    write_result(token, mass, 0, 0);
    return;
  }
  const uint count = draw.kind == kCandidates ? draw.num_candidates : draw.top_k;
  if (count > 0 && uint64_t(count) < whole_mass(false)) cut(false, uint64_t(count));
  if (draw.kind == kCandidates) {
    write_candidates();
    write_result(kNoToken, mass, group_flags, 0);
    return;
  }
  if (draw.cuts_top_p != 0) cut(true, draw_goal(whole_mass(true), draw.top_p));
  most_behind = draw.most_behind;
  write_result(drawn_token(), mass, 0, 0);
}

void main() {
  draw = Draws(STAGE.draws).at[gl_WorkGroupID.y];
  const bool is_finite = prepare_row();
  const uint token = is_finite ? best_token() : kNoToken;
  if (token != kNoToken) {
    finish(token);
  } else {
    write_result(kNoToken, uint64_t(0), 0, is_finite ? kNoneAllowed : kNotFinite);
  }
}
