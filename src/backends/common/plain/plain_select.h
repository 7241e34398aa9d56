// select: the positions that the rows of an index score highest (arXiv:2512.02556), token by token;
// select_blocks: the blocks of positions that do so for each head.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "backends/common/plain/plain_cache.h"
#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

/// tenon/backend.h, tenon_select_params and tenon_select_blocks_params.
inline constexpr uint32_t kMaxSelected = 1u << 16;
inline constexpr uint64_t kMaxSelectedInBlocks = 1u << 20;

/// What a select and a select_blocks read: the rows of an index.
inline bool fits_index(const OpShape& shape, uint32_t heads) noexcept {
  const tenon_cache_group& group = *shape.group;
  return is_activation(shape.inputs[0], TENON_ROWS_TOKENS) &&
         is_integers(shape.outputs[0], shape.inputs[0]) && group.kind == TENON_CACHE_LATENT &&
         group.kv_heads == 1 && group.block_tokens > 0 && fits_cache(group.type, group.key_dim) &&
         heads > 0 && shape.inputs[0]->columns == uint64_t{heads} * group.key_dim;
}

inline bool fits_select(const OpShape& shape) noexcept {
  const tenon_select_params& params = shape.op->params.select;
  return fits_index(shape, params.heads) && is_activation(shape.inputs[1], TENON_ROWS_TOKENS) &&
         params.count > 0 && params.count <= kMaxSelected &&
         shape.inputs[1]->columns == params.heads && shape.outputs[0]->columns == params.count;
}

inline bool fits_select_blocks(const OpShape& shape) noexcept {
  const tenon_select_blocks_params& params = shape.op->params.select_blocks;
  return fits_index(shape, params.heads) && params.count > 0 && params.block > 0 &&
         params.local <= params.count && backends::row_stride(*shape.group) == 1 &&
         uint64_t{params.count} * params.block <= kMaxSelectedInBlocks / params.heads &&
         shape.outputs[0]->columns == uint64_t{params.heads} * params.count;
}

/// Numbers 0 .. scores.size() - 1 of the `count` largest scores, ascending. Scores that are NaN
/// become -infinity.
template <typename Real>
std::vector<uint32_t> best_of(std::vector<Real>& scores, size_t count) {
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
    std::vector<Real> scores(backends::num_rows_before(group, own + 1));
    for (uint32_t i = 0; i < scores.size(); ++i) {
      const std::byte* row = step.cache_row(*sequence, params.group, params.layer,
                                            backends::position_of_row(group, i));
      load_head(row, group.type, group.key_dim, key.data());
      for (uint32_t h = 0; h < params.heads; ++h) {
        const Real* q = query.row(t).data() + uint64_t{h} * group.key_dim;
        Real product = 0;
        for (uint32_t d = 0; d < group.key_dim; ++d) product += q[d] * key[d];
        scores[i] += weights(t, h) * (product <= 0 ? 0 : product);
      }
    }
    const std::vector<uint32_t> chosen = best_of(scores, params.count);
    for (uint32_t j = 0; j < params.count; ++j) {
      out(t, j) = j < chosen.size() ? static_cast<Real>(chosen[j]) : Real{-1};
    }
  }
}

template <typename Math>
void run_select_blocks(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const tenon_select_blocks_params& params = op.params.select_blocks;
  const tenon_cache_group& group = step.group(params.group);
  const auto query = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  std::vector<Real> key(group.key_dim);
  for (uint32_t t = 0; t < step.num_rows(op.inputs[0]); ++t) {
    const auto& [sequence, own] = step.place(t);
    const uint32_t blocks = own / params.block + 1;
    std::vector<std::vector<Real>> scores(params.heads, std::vector<Real>(blocks, -INFINITY));
    for (uint32_t i = 0; i <= own; ++i) {
      const std::byte* row = step.cache_row(*sequence, params.group, params.layer, i);
      load_head(row, group.type, group.key_dim, key.data());
      for (uint32_t h = 0; h < params.heads; ++h) {
        const Real* q = query.row(t).data() + uint64_t{h} * group.key_dim;
        Real product = 0;
        for (uint32_t d = 0; d < group.key_dim; ++d) product += q[d] * key[d];
        Real& score = scores[h][i / params.block];
        if (product > score) score = product;  // not where it is NaN
      }
    }
    for (uint32_t h = 0; h < params.heads; ++h) {
      const uint32_t local = std::min(params.local, blocks);
      std::fill_n(scores[h].end() - local, local, static_cast<Real>(INFINITY));
      const std::vector<uint32_t> chosen = best_of(scores[h], params.count);
      for (uint32_t j = 0; j < params.count; ++j) {
        const bool is_chosen = j < chosen.size();
        out(t, h * params.count + j) = is_chosen ? static_cast<Real>(chosen[j]) : Real{-1};
      }
    }
  }
}

}  // namespace tenon::plain
