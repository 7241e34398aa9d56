// moe_route: a group per row. Experts are ordered by integer keys of their ranks. Key 0 marks a
// chosen expert.
#include "backends/gpu/kernels/reduce.inl"

TENON_VARIABLE(uint, row);

TENON_DEVICE float logit_of(uint expert) {
  return Floats(stage.logits).at[row * stage.experts + expert];
}
// Keys of the experts of the row, then those of its groups.
TENON_DEVICE uint key_place(uint number) { return row * (stage.experts + stage.groups) + number; }

// Expert that a table names: the nearest one.
TENON_DEVICE uint told_expert(uint j) {
  const float number = Floats(stage.told).at[row * stage.used + j];
  return number > 0 ? uint(smaller(number + 0.5f, float(stage.experts - 1))) : 0;
}

TENON_DEVICE float sqrt_softplus(float x) {
  return root(larger(x, 0.0f) + log1p_of(exp_of(-absolute(x))));
}

// Number of the largest of `count` keys from `first` on; the lowest of equal ones. All threads call
// it.
TENON_DEVICE uint largest_key(uint first, uint count) {
  SharedWords keys = SharedWords(stage.keys);
  uint largest = 0;
  uint number = 0xFFFFFFFFu;
  for (uint i = thread_number(); i < count; i += num_threads()) {
    const uint key = keys.at[key_place(first + i)];
    if (key > largest) {
      largest = key;
      number = i;
    }
  }
  const uint all = group_max(largest);
  return ~group_max(largest == all ? ~number : 0u);
}

// Replaces the key of an expert or a group. All threads call it.
TENON_DEVICE void take(uint number, uint key) {
  barrier();
  if (thread_number() == 0) SharedWords(stage.keys).at[key_place(number)] = key;
  memory_barrier();
}

// Gives the lowest rank to the experts of all but the largest groups.
TENON_DEVICE void keep_largest_groups() {
  SharedWords keys = SharedWords(stage.keys);
  const uint size = stage.experts / stage.groups;
  for (uint g = thread_number(); g < stage.groups; g += num_threads()) {
    float first = -infinity();
    float second = -infinity();
    for (uint i = 0; i < size; ++i) {
      const float rank = value_of_key(keys.at[key_place(g * size + i)]);
      second = larger(second, smaller(first, rank));
      first = larger(first, rank);
    }
    keys.at[key_place(stage.experts + g)] = order_key(size == 1 ? first : first + second);
  }
  memory_barrier();
  for (uint i = 0; i < stage.groups_used; ++i) {
    take(stage.experts + largest_key(stage.experts, stage.groups), 0);
  }
  for (uint e = thread_number(); e < stage.experts; e += num_threads()) {
    if (keys.at[key_place(stage.experts + e / size)] == 0) continue;
    keys.at[key_place(e)] = order_key(-infinity());
  }
  memory_barrier();
}

// SparseMixer: weight of an expert among the close ones that are not chosen yet.
TENON_DEVICE float mixed_weight(uint expert) {
  const float largest = logit_of(expert);
  float sum = 0;
  for (uint e = thread_number(); e < stage.experts; e += num_threads()) {
    if (SharedWords(stage.keys).at[key_place(e)] == 0) continue;
    const float logit = logit_of(e);
    const float gap = (largest - logit) / larger(absolute(logit), largest);
    if (!(gap > stage.closeness)) sum += exp_of(logit - largest);
  }
  return 1 / group_sum(sum);
}

TENON_DEVICE void run() {
  row = group_y();
  const uint thread = thread_number();
  float largest = -infinity();
  for (uint e = thread; e < stage.experts; e += num_threads())
    largest = larger(largest, logit_of(e));
  largest = group_max(largest);
  float sum = 0;
  for (uint e = thread; e < stage.experts; e += num_threads()) sum += exp_of(logit_of(e) - largest);
  sum = group_sum(sum);

  // Scores that saturate would lose the order of their logits.
  const bool by_logits = (stage.bias == 0 && stage.groups <= 1) || stage.scoring == kMoeSparseMixer;
  for (uint e = thread; e < stage.experts; e += num_threads()) {
    float rank = logit_of(e);
    if (!by_logits && stage.scoring == kMoeSoftmaxAll) rank = exp_of(rank - largest) / sum;
    if (!by_logits && stage.scoring == kMoeSigmoid) rank = sigmoid_of(rank);
    if (!by_logits && stage.scoring == kMoeSqrtSoftplus) rank = sqrt_softplus(rank);
    if (stage.bias != 0) rank += Floats(stage.bias).at[e];
    SharedWords(stage.keys).at[key_place(e)] = order_key(rank);
  }
  memory_barrier();
  if (stage.groups > 1) keep_largest_groups();

  Floats weights = Floats(stage.weights);
  const uint first = row * stage.used;
  float top = -infinity();  // of the logits of the chosen
  float total = 0;
  for (uint j = 0; j < stage.used; ++j) {
    const uint expert = stage.told != 0 ? told_expert(j) : largest_key(0, stage.experts);
    const float logit = logit_of(expert);
    float weight = logit;
    if (stage.scoring == kMoeSoftmaxAll) weight = exp_of(logit - largest) / sum;
    if (stage.scoring == kMoeSigmoid) weight = sigmoid_of(logit);
    if (stage.scoring == kMoeSqrtSoftplus) weight = sqrt_softplus(logit);
    if (stage.scoring == kMoeSparseMixer) weight = mixed_weight(expert);
    if (stage.told == 0) take(expert, 0);
    if (thread == 0) {
      Words(stage.ids).at[first + j] = expert;
      weights.at[first + j] = weight;
    }
    top = larger(top, logit);
    total += weight;
  }
  if (thread != 0) return;
  float divisor = stage.normalise != 0 ? larger(total, stage.min_sum) : 1;
  if (stage.scoring == kMoeSoftmaxChosen) {
    divisor = 0;
    for (uint j = 0; j < stage.used; ++j) {
      const float weight = exp_of(weights.at[first + j] - top);
      weights.at[first + j] = weight;
      divisor += weight;
    }
  }
  for (uint j = 0; j < stage.used; ++j) {
    const uint expert = Words(stage.ids).at[first + j];
    const float own = stage.expert_scale == 0 ? 1 : Floats(stage.expert_scale).at[expert];
    weights.at[first + j] = weights.at[first + j] / divisor * stage.scale * own;
  }
}
