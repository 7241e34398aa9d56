// moe_route: a workgroup for each row. Experts are ordered by keys, integers that are larger where a rank
// is; 0 is the key of one that has been chosen.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "math.glsl"
#include "reduce.glsl"

layout(buffer_reference, scalar) readonly buffer Parameters { MoeRouteStage stage; };
layout(push_constant) uniform Push { Parameters parameters; };
#define STAGE parameters.stage

const uint kSoftmaxAll = 0;
const uint kSoftmaxChosen = 1;
const uint kSigmoid = 2;
const uint kSparseMixer = 3;
const uint kSqrtSoftplus = 4;
const uint kNone = 0xFFFFFFFFu;

uint row;

float logit_of(uint expert) { return Floats(STAGE.logits).at[row * STAGE.experts + expert]; }
// Keys of the experts of the row, then those of its groups.
uint key_place(uint number) { return row * (STAGE.experts + STAGE.groups) + number; }

uint key_of_rank(float rank) {
  if (is_nan(rank)) rank = -kInfinity;
  const uint bits = rank == 0 ? 0 : floatBitsToUint(rank);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}
float rank_of_key(uint key) {
  return uintBitsToFloat((key & 0x80000000u) != 0 ? key & 0x7FFFFFFFu : ~key);
}

// The expert that a table tells: the nearest there is.
uint told_expert(uint j) {
  const float number = Floats(STAGE.told).at[row * STAGE.used + j];
  return number > 0 ? uint(min(number + 0.5, float(STAGE.experts - 1))) : 0;
}

float sqrt_softplus(float x) { return sqrt(max(x, 0) + log1p_of(exp_of(-abs(x)))); }

// The number of the largest of `count` keys from `first` on, of equal ones the lowest. All threads call it.
uint largest_key(uint first, uint count) {
  SharedWords keys = SharedWords(STAGE.keys);
  uint largest = 0;
  uint number = kNone;
  for (uint i = gl_LocalInvocationID.x; i < count; i += kThreads) {
    const uint key = keys.at[key_place(first + i)];
    if (key > largest) {
      largest = key;
      number = i;
    }
  }
  const uint all = group_max(largest);
  return ~group_max(largest == all ? ~number : 0u);
}

// Takes it out of those that can be chosen.
void take(uint number, uint key) {
  barrier();
  if (gl_LocalInvocationID.x == 0) SharedWords(STAGE.keys).at[key_place(number)] = key;
  memoryBarrierBuffer();
  barrier();
}

// Experts of runs that are not among the largest get the lowest rank.
void keep_largest_groups() {
  SharedWords keys = SharedWords(STAGE.keys);
  const uint size = STAGE.experts / STAGE.groups;
  for (uint g = gl_LocalInvocationID.x; g < STAGE.groups; g += kThreads) {
    float first = -kInfinity;
    float second = -kInfinity;
    for (uint i = 0; i < size; ++i) {
      const float rank = rank_of_key(keys.at[key_place(g * size + i)]);
      second = max(second, min(first, rank));
      first = max(first, rank);
    }
    keys.at[key_place(STAGE.experts + g)] = key_of_rank(size == 1 ? first : first + second);
  }
  memoryBarrierBuffer();
  barrier();
  for (uint i = 0; i < STAGE.groups_used; ++i) {
    take(STAGE.experts + largest_key(STAGE.experts, STAGE.groups), 0);
  }
  for (uint e = gl_LocalInvocationID.x; e < STAGE.experts; e += kThreads) {
    if (keys.at[key_place(STAGE.experts + e / size)] == 0) continue;
    keys.at[key_place(e)] = key_of_rank(-kInfinity);
  }
  memoryBarrierBuffer();
  barrier();
}

// SparseMixer: the weight of an expert among those that have not been chosen and come close.
float mixed_weight(uint expert) {
  const float largest = logit_of(expert);
  float sum = 0;
  for (uint e = gl_LocalInvocationID.x; e < STAGE.experts; e += kThreads) {
    if (SharedWords(STAGE.keys).at[key_place(e)] == 0) continue;
    const float logit = logit_of(e);
    const float gap = (largest - logit) / max(abs(logit), largest);
    if (!(gap > STAGE.closeness)) sum += exp_of(logit - largest);
  }
  return 1 / group_sum(sum);
}

void main() {
  row = gl_WorkGroupID.y;
  const uint thread = gl_LocalInvocationID.x;
  float largest = -kInfinity;
  for (uint e = thread; e < STAGE.experts; e += kThreads) largest = max(largest, logit_of(e));
  largest = group_max(largest);
  float sum = 0;
  for (uint e = thread; e < STAGE.experts; e += kThreads) sum += exp_of(logit_of(e) - largest);
  sum = group_sum(sum);

  // Scores that saturate would lose the order of their logits.
  const bool by_logits = STAGE.bias == 0 && STAGE.groups <= 1 || STAGE.scoring == kSparseMixer;
  for (uint e = thread; e < STAGE.experts; e += kThreads) {
    float rank = logit_of(e);
    if (!by_logits && STAGE.scoring == kSoftmaxAll) rank = exp_of(rank - largest) / sum;
    if (!by_logits && STAGE.scoring == kSigmoid) rank = sigmoid_of(rank);
    if (!by_logits && STAGE.scoring == kSqrtSoftplus) rank = sqrt_softplus(rank);
    if (STAGE.bias != 0) rank += Floats(STAGE.bias).at[e];
    SharedWords(STAGE.keys).at[key_place(e)] = key_of_rank(rank);
  }
  memoryBarrierBuffer();
  barrier();
  if (STAGE.groups > 1) keep_largest_groups();

  Floats weights = Floats(STAGE.weights);
  const uint first = row * STAGE.used;
  float top = -kInfinity;  // of the logits of the chosen
  float total = 0;
  for (uint j = 0; j < STAGE.used; ++j) {
    const uint expert = STAGE.told != 0 ? told_expert(j) : largest_key(0, STAGE.experts);
    const float logit = logit_of(expert);
    float weight = logit;
    if (STAGE.scoring == kSoftmaxAll) weight = exp_of(logit - largest) / sum;
    if (STAGE.scoring == kSigmoid) weight = sigmoid_of(logit);
    if (STAGE.scoring == kSqrtSoftplus) weight = sqrt_softplus(logit);
    if (STAGE.scoring == kSparseMixer) weight = mixed_weight(expert);
    if (STAGE.told == 0) take(expert, 0);
    if (thread == 0) {
      Words(STAGE.ids).at[first + j] = expert;
      weights.at[first + j] = weight;
    }
    top = max(top, logit);
    total += weight;
  }
  if (thread != 0) return;
  float divisor = STAGE.normalise != 0 ? max(total, STAGE.min_sum) : 1;
  if (STAGE.scoring == kSoftmaxChosen) {
    divisor = 0;
    for (uint j = 0; j < STAGE.used; ++j) {
      const float weight = exp_of(weights.at[first + j] - top);
      weights.at[first + j] = weight;
      divisor += weight;
    }
  }
  for (uint j = 0; j < STAGE.used; ++j) {
    const uint expert = Words(STAGE.ids).at[first + j];
    const float own = STAGE.expert_scale == 0 ? 1 : Floats(STAGE.expert_scale).at[expert];
    weights.at[first + j] = weights.at[first + j] / divisor * STAGE.scale * own;
  }
}
