// select: positions whose index rows score highest (arXiv:2512.02556), token by token.
// select_blocks: blocks of positions, per head. select_candidates and select_within: blocks of
// rows, then rows of these blocks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "backends/common/plain/plain_cache.h"
#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

/// Limits of tenon_select_params and tenon_select_blocks_params (tenon/backend.h).
inline constexpr uint32_t kMaxSelected = 1u << 16;
inline constexpr uint64_t kMaxSelectedInBlocks = 1u << 20;

/// True if a select or select_blocks can read its index rows.
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

inline bool fits_select_candidates(const OpShape& shape) noexcept {
  const tenon_select_within_params& params = shape.op->params.select_within;
  return fits_select(shape) && params.block > 0 &&
         uint64_t{params.count} * params.block <= kMaxSelectedInBlocks;
}

inline bool fits_select_within(const OpShape& shape) noexcept {
  return fits_select(shape) && shape.op->params.select_within.block > 0 &&
         shape.inputs[2] != nullptr && is_integers(shape.inputs[2], shape.inputs[0]);
}

inline bool fits_select_blocks(const OpShape& shape) noexcept {
  const tenon_select_blocks_params& params = shape.op->params.select_blocks;
  return fits_index(shape, params.heads) && params.count > 0 && params.block > 0 &&
         params.local <= params.count && backends::row_stride(*shape.group) == 1 &&
         uint64_t{params.count} * params.block <= kMaxSelectedInBlocks / params.heads &&
         shape.outputs[0]->columns == uint64_t{params.heads} * params.count;
}

/// Numbers of the `count` largest scores, ascending. Replaces NaN scores by -infinity.
template <typename Real>
StepVector<uint32_t> best_of(StepVector<Real>& scores, size_t count) {
  StepVector<uint32_t> order(scores.size(), scores.get_allocator().resource());
  for (uint32_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    if (std::isnan(scores[i])) scores[i] = -INFINITY;
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  order.resize(std::min(order.size(), count));
  std::sort(order.begin(), order.end());
  return order;
}

/// Scores of index rows for a token. Serves select, select_candidates and select_within, whose
/// parameters share a prefix.
template <typename Math>
StepVector<typename Math::Real> index_scores(StepRun<Math>& step, const tenon_op& op, uint32_t t,
                                             const StepVector<uint32_t>& rows) {
  using Real = typename Math::Real;
  const tenon_select_params& params = op.params.select;
  const tenon_cache_group& group = step.group(params.group);
  const auto query = step.activation(op.inputs[0]);
  const auto weights = step.activation(op.inputs[1]);
  auto key = step.template list<Real>(group.key_dim);
  auto scores = step.template list<Real>(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::byte* row = step.cache_row(*step.place(t).sequence, params.group, params.layer,
                                          backends::position_of_row(group, rows[i]));
    load_head(row, group.type, group.key_dim, key.data());
    for (uint32_t h = 0; h < params.heads; ++h) {
      const Real* q = query.row(t).data() + uint64_t{h} * group.key_dim;
      Real product = 0;
      for (uint32_t d = 0; d < group.key_dim; ++d) product += q[d] * key[d];
      scores[i] += weights(t, h) * (product <= 0 ? 0 : product);
    }
  }
  return scores;
}

/// Rows of a select's group that a token sees, from 0 on.
template <typename Math>
StepVector<uint32_t> rows_seen(StepRun<Math>& step, const tenon_op& op, uint32_t t) {
  const tenon_cache_group& group = step.group(op.params.select.group);
  auto rows =
      step.template list<uint32_t>(backends::num_rows_before(group, step.place(t).position + 1));
  std::iota(rows.begin(), rows.end(), 0u);
  return rows;
}

/// Writes numbers[i] for each chosen i, then -1.
template <typename Math>
void write_chosen(StepRun<Math>& step, const tenon_op& op, uint32_t t,
                  const StepVector<uint32_t>& chosen, const StepVector<uint32_t>& numbers) {
  using Real = typename Math::Real;
  auto out = step.activation(op.outputs[0]);
  for (uint32_t j = 0; j < op.params.select.count; ++j) {
    out(t, j) = j < chosen.size() ? static_cast<Real>(numbers[chosen[j]]) : Real{-1};
  }
}

template <typename Math>
void run_select(StepRun<Math>& step, const tenon_op& op) {
  for (uint32_t t = 0; t < step.num_rows(op.inputs[0]); ++t) {
    const StepVector<uint32_t> rows = rows_seen(step, op, t);
    auto scores = index_scores(step, op, t, rows);
    write_chosen(step, op, t, best_of(scores, op.params.select.count), rows);
  }
}

template <typename Math>
void run_select_candidates(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const tenon_select_within_params& params = op.params.select_within;
  for (uint32_t t = 0; t < step.num_rows(op.inputs[0]); ++t) {
    const StepVector<uint32_t> rows = rows_seen(step, op, t);
    const StepVector<Real> scores = index_scores(step, op, t, rows);
    auto best =
        step.template list<Real>((rows.size() + params.block - 1) / params.block, -INFINITY);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (scores[i] > best[i / params.block]) best[i / params.block] = scores[i];
    }
    if (!best.empty()) best.back() = INFINITY;
    auto numbers = step.template list<uint32_t>(best.size());
    std::iota(numbers.begin(), numbers.end(), 0u);
    write_chosen(step, op, t, best_of(best, params.count), numbers);
  }
}

template <typename Math>
void run_select_within(StepRun<Math>& step, const tenon_op& op) {
  const tenon_select_within_params& params = op.params.select_within;
  const auto candidates = step.activation(op.inputs[2]);
  for (uint32_t t = 0; t < step.num_rows(op.inputs[0]); ++t) {
    const auto seen = static_cast<uint32_t>(rows_seen(step, op, t).size());
    auto rows = step.template list<uint32_t>();
    const auto blocks = candidates.row(t);
    for (Eigen::Index j = 0; j < blocks.size() && blocks[j] >= 0; ++j) {
      const uint64_t first = static_cast<uint64_t>(blocks[j]) * params.block;
      const uint64_t end = std::min<uint64_t>(first + params.block, seen);
      for (uint64_t row = first; row < end; ++row) rows.push_back(static_cast<uint32_t>(row));
    }
    auto scores = index_scores(step, op, t, rows);
    write_chosen(step, op, t, best_of(scores, params.count), rows);
  }
}

template <typename Math>
void run_select_blocks(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const tenon_select_blocks_params& params = op.params.select_blocks;
  const tenon_cache_group& group = step.group(params.group);
  const auto query = step.activation(op.inputs[0]);
  auto out = step.activation(op.outputs[0]);
  auto key = step.template list<Real>(group.key_dim);
  for (uint32_t t = 0; t < step.num_rows(op.inputs[0]); ++t) {
    const auto& [sequence, own] = step.place(t);
    const uint32_t blocks = own / params.block + 1;
    StepVector<StepVector<Real>> scores(step.lists());
    while (scores.size() < params.heads) scores.emplace_back(blocks, static_cast<Real>(-INFINITY));
    for (uint32_t i = 0; i <= own; ++i) {
      const std::byte* row = step.cache_row(*sequence, params.group, params.layer, i);
      load_head(row, group.type, group.key_dim, key.data());
      for (uint32_t h = 0; h < params.heads; ++h) {
        const Real* q = query.row(t).data() + uint64_t{h} * group.key_dim;
        Real product = 0;
        for (uint32_t d = 0; d < group.key_dim; ++d) product += q[d] * key[d];
        Real& score = scores[h][i / params.block];
        if (product > score) score = product;  // false for NaN
      }
    }
    for (uint32_t h = 0; h < params.heads; ++h) {
      const uint32_t local = std::min(params.local, blocks);
      std::fill_n(scores[h].end() - local, local, static_cast<Real>(INFINITY));
      const StepVector<uint32_t> chosen = best_of(scores[h], params.count);
      for (uint32_t j = 0; j < params.count; ++j) {
        const bool is_chosen = j < chosen.size();
        out(t, h * params.count + j) = is_chosen ? static_cast<Real>(chosen[j]) : Real{-1};
      }
    }
  }
}

}  // namespace tenon::plain
