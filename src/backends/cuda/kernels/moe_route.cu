// moe_route: a group for each row. Experts are ordered by keys, integers that are larger where a rank
// is; 0 is the key of one that has been chosen.
#include "backends/cuda/kernels/device.h"
#include "backends/cuda/kernels/device_math.h"
#include "backends/cuda/kernels/device_reduce.h"

namespace tenon::cuda {

struct MoeRoute {
  gpu::MoeRouteStage stage;
  Constants constants;

  static constexpr uint kSoftmaxAll = 0;
  static constexpr uint kSoftmaxChosen = 1;
  static constexpr uint kSigmoid = 2;
  static constexpr uint kSparseMixer = 3;
  static constexpr uint kSqrtSoftplus = 4;
  static constexpr uint kNone = 0xFFFFFFFFu;

  uint row = 0;

  TENON_DEVICE float logit_of(uint expert) {
    return Floats(stage.logits).at[row * stage.experts + expert];
  }
  // Keys of the experts of the row, then those of its groups.
  TENON_DEVICE uint key_place(uint number) { return row * (stage.experts + stage.groups) + number; }

  TENON_DEVICE uint key_of_rank(float rank) {
    if (is_nan(rank)) rank = -infinity();
    const uint bits = rank == 0 ? 0 : float_to_bits(rank);
    return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  }
  TENON_DEVICE float rank_of_key(uint key) {
    return bits_to_float((key & 0x80000000u) != 0 ? key & 0x7FFFFFFFu : ~key);
  }

  // The expert that a table tells: the nearest there is.
  TENON_DEVICE uint told_expert(uint j) {
    const float number = Floats(stage.told).at[row * stage.used + j];
    return number > 0 ? uint(smaller(number + 0.5f, float(stage.experts - 1))) : 0;
  }

  TENON_DEVICE float sqrt_softplus(float x) {
    return root(larger(x, 0.0f) + log1p_of(exp_of(-absolute(x))));
  }

  // The number of the largest of `count` keys from `first` on, of equal ones the lowest. All threads call it.
  TENON_DEVICE uint largest_key(uint first, uint count) {
    Words keys = Words(stage.keys);
    uint largest = 0;
    uint number = kNone;
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

  // Takes it out of those that can be chosen.
  TENON_DEVICE void take(uint number, uint key) {
    barrier();
    if (thread_number() == 0) Words(stage.keys).at[key_place(number)] = key;
    barrier();
  }

  // Experts of runs that are not among the largest get the lowest rank.
  TENON_DEVICE void keep_largest_groups() {
    Words keys = Words(stage.keys);
    const uint size = stage.experts / stage.groups;
    for (uint g = thread_number(); g < stage.groups; g += num_threads()) {
      float first = -infinity();
      float second = -infinity();
      for (uint i = 0; i < size; ++i) {
        const float rank = rank_of_key(keys.at[key_place(g * size + i)]);
        second = larger(second, smaller(first, rank));
        first = larger(first, rank);
      }
      keys.at[key_place(stage.experts + g)] = key_of_rank(size == 1 ? first : first + second);
    }
    barrier();
    for (uint i = 0; i < stage.groups_used; ++i) {
      take(stage.experts + largest_key(stage.experts, stage.groups), 0);
    }
    for (uint e = thread_number(); e < stage.experts; e += num_threads()) {
      if (keys.at[key_place(stage.experts + e / size)] == 0) continue;
      keys.at[key_place(e)] = key_of_rank(-infinity());
    }
    barrier();
  }

  // SparseMixer: the weight of an expert among those that have not been chosen and come close.
  TENON_DEVICE float mixed_weight(uint expert) {
    const float largest = logit_of(expert);
    float sum = 0;
    for (uint e = thread_number(); e < stage.experts; e += num_threads()) {
      if (Words(stage.keys).at[key_place(e)] == 0) continue;
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
    for (uint e = thread; e < stage.experts; e += num_threads())
      sum += exp_of(logit_of(e) - largest);
    sum = group_sum(sum);

    // Scores that saturate would lose the order of their logits.
    const bool by_logits = (stage.bias == 0 && stage.groups <= 1) || stage.scoring == kSparseMixer;
    for (uint e = thread; e < stage.experts; e += num_threads()) {
      float rank = logit_of(e);
      if (!by_logits && stage.scoring == kSoftmaxAll) rank = exp_of(rank - largest) / sum;
      if (!by_logits && stage.scoring == kSigmoid) rank = sigmoid_of(rank);
      if (!by_logits && stage.scoring == kSqrtSoftplus) rank = sqrt_softplus(rank);
      if (stage.bias != 0) rank += Floats(stage.bias).at[e];
      Words(stage.keys).at[key_place(e)] = key_of_rank(rank);
    }
    barrier();
    if (stage.groups > 1) keep_largest_groups();

    Floats weights = Floats(stage.weights);
    const uint first = row * stage.used;
    float top = -infinity();  // of the logits of the chosen
    float total = 0;
    for (uint j = 0; j < stage.used; ++j) {
      const uint expert = stage.told != 0 ? told_expert(j) : largest_key(0, stage.experts);
      const float logit = logit_of(expert);
      float weight = logit;
      if (stage.scoring == kSoftmaxAll) weight = exp_of(logit - largest) / sum;
      if (stage.scoring == kSigmoid) weight = sigmoid_of(logit);
      if (stage.scoring == kSqrtSoftplus) weight = sqrt_softplus(logit);
      if (stage.scoring == kSparseMixer) weight = mixed_weight(expert);
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
    if (stage.scoring == kSoftmaxChosen) {
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
};

}  // namespace tenon::cuda

TENON_ENTRY(moe_route, true, tenon::cuda::MoeRoute)
