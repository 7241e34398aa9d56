// select: the positions that the rows of an index score highest (arXiv:2512.02556), token by token.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "backends/common/plain/plain_cache.h"
#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

/// tenon/backend.h, tenon_select_params.
inline constexpr uint32_t kMaxSelected = 1u << 16;

inline bool fits_select(const OpShape& shape) noexcept {
  const tenon_cache_group& group = *shape.group;
  const tenon_select_params& params = shape.op->params.select;
  return is_activation(shape.inputs[0], TENON_ROWS_TOKENS) &&
         is_activation(shape.inputs[1], TENON_ROWS_TOKENS) &&
         is_integers(shape.outputs[0], shape.inputs[0]) && group.kind == TENON_CACHE_LATENT &&
         group.kv_heads == 1 && group.block_tokens > 0 && fits_cache(group.type, group.key_dim) &&
         params.heads > 0 && params.count > 0 && params.count <= kMaxSelected &&
         shape.inputs[0]->columns == uint64_t{params.heads} * group.key_dim &&
         shape.inputs[1]->columns == params.heads && shape.outputs[0]->columns == params.count;
}

/// Positions 0 .. scores.size() - 1 of the `count` largest scores, ascending. Scores that are NaN
/// become -infinity.
template <typename Real>
std::vector<uint32_t> best_positions(std::vector<Real>& scores, size_t count) {
  std::vector<uint32_t> order(scores.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    if (std::isnan(scores[i])) scores[i] = -INFINITY;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
  order.resize(std::min(order.size(), count));
  std::sort(order.begin(), order.end());
  return order;
}

template <typename Math>
void run_select(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const tenon_select_params& params = op.params.select;
  const tenon_cache_group& group = step.group(params.group);
  const auto query = step.activation(op.inputs[0]);
  const auto weights = step.activation(op.inputs[1]);
  auto out = step.activation(op.outputs[0]);
  std::vector<Real> key(group.key_dim);
  for (uint32_t t = 0; t < step.num_rows(op.inputs[0]); ++t) {
    const auto& [sequence, own] = step.place(t);
    std::vector<Real> scores(uint64_t{own} + 1);
    for (uint32_t i = 0; i <= own; ++i) {
      const std::byte* row = step.cache_row(*sequence, params.group, params.layer, i);
      load_head(row, group.type, group.key_dim, key.data());
      for (uint32_t h = 0; h < params.heads; ++h) {
        const Real* q = query.row(t).data() + uint64_t{h} * group.key_dim;
        Real product = 0;
        for (uint32_t d = 0; d < group.key_dim; ++d) product += q[d] * key[d];
        scores[i] += weights(t, h) * (product <= 0 ? 0 : product);
      }
    }
    const std::vector<uint32_t> chosen = best_positions(scores, params.count);
    for (uint32_t j = 0; j < params.count; ++j) {
      out(t, j) = j < chosen.size() ? static_cast<Real>(chosen[j]) : Real{-1};
    }
  }
}

}  // namespace tenon::plain
