// attention: over the paged cache, token by token, for the query heads that share a KV head
// (Vaswani et al., arXiv:1706.03762, section 3.2.1; sinks as in arXiv:2309.17453 with a value of
// zero; ALiBi: arXiv:2108.12409; relative bias: arXiv:1910.10683; latent rows: arXiv:2405.04434).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "abi/relative_bucket.h"
#include "abi/selected_positions.h"
#include "abi/step_rules.h"
#include "backends/common/plain/plain_cache.h"
#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

/// An attention operation: visible positions, scores, and the keys and values of a KV head.
template <typename Math>
class Attention {
 public:
  using Real = typename Math::Real;

  Attention(const StepRun<Math>& step, const tenon_op& op)
      : params(op.params.attention),
        group(step.group(params.group)),
        query(step.activation(op.inputs[0])),
        out(step.activation(op.outputs[0])),
        step_(step),
        sinks_(step.weight_vector(op.inputs[1])),
        selects_(op.inputs[3] != TENON_NO_SLOT),
        selected_(step.activation(selects_ ? op.inputs[3] : op.inputs[0])),
        bias_(step.lists()),
        key_bytes_(cache_head_bytes(group.type, group.key_dim)),
        value_bytes_(cache_head_bytes(group.type, group.value_dim)) {
    if (params.bias == TENON_BIAS_ALIBI) {
      const std::span<const double> slopes = step.constant(op.inputs[2]);
      bias_.assign(slopes.begin(), slopes.end());
    } else if (params.bias == TENON_BIAS_RELATIVE) {
      bias_ = step.weight_rows(op.inputs[2]);
    }
  }

  /// True if tokens attend to selected positions only.
  [[nodiscard]] bool selects() const { return selects_; }
  /// Positions that a token attends to, ascending.
  struct Positions {
    uint32_t first, count;
    std::optional<backends::SelectedPositions<Real>> selected;  ///< empty: all from `first` on
    uint32_t operator[](uint32_t i) const noexcept { return selected ? (*selected)[i] : first + i; }
  };
  /// All positions that token t sees, or those selected for a KV head.
  [[nodiscard]] Positions looked_at(uint32_t t, uint64_t kv_head) const noexcept {
    const TokenPlace& place = step_.place(t);
    if (!selects()) {
      const Range range = seen(place);
      return {range.first, range.end - range.first, std::nullopt};
    }
    const auto row = selected_.row(t);
    const uint32_t parts = backends::selection_parts(params);
    const size_t columns = static_cast<size_t>(row.size()) / parts;
    const backends::SelectedPositions<Real> selected(row.data() + (kv_head % parts) * columns,
                                                     columns, params, place.position);
    return {0, selected.size(), selected};
  }

  /// Visible positions [first, end) of a token.
  struct Range {
    uint32_t first, end;
  };
  [[nodiscard]] Range seen(const TokenPlace& place) const {
    const uint64_t own = place.position;
    const uint64_t all = backends::num_positions(*place.sequence, group);
    const uint64_t window = params.window;
    uint64_t first = 0;
    uint64_t end = all;
    switch (params.mask) {
      case TENON_MASK_CAUSAL:
        if (window > 0 && own >= window) first = own - window + 1;
        end = own + 1;
        break;
      case TENON_MASK_CHUNKED:
        first = own - own % window;
        end = own + 1;
        break;
      case TENON_MASK_SYMMETRIC:
        if (window > 0 && own > window / 2) first = own - window / 2;
        if (window > 0) end = std::min(all, own + window / 2 + 1);
        break;
      default:
        break;
    }
    return {static_cast<uint32_t>(first), static_cast<uint32_t>(end)};
  }

  /// Most positions that a token of the step attends to.
  [[nodiscard]] uint64_t longest() const {
    uint64_t longest = 0;
    for (uint32_t t = 0; t < query.rows(); ++t) {
      const Range range = seen(step_.place(t));
      longest = std::max<uint64_t>(longest, range.end - range.first);
    }
    return longest;
  }

  /// Score of position `i` for a query head of a token at position `own`, from their dot product.
  [[nodiscard]] Real score(Real product, uint64_t head, uint32_t own, uint32_t i) const {
    const Real scaled = product * params.scale;
    const Real cap = params.soft_cap;
    const Real capped = cap > 0 ? cap * std::tanh(scaled / cap) : scaled;
    return params.bias == TENON_BIAS_NONE ? capped : capped + bias_of(head, own, i);
  }

  /// Turns a query head's scores into weights, in place.
  void softmax(uint64_t head, Real* scores, uint32_t count) const noexcept {
    Real highest = sinks_.empty() ? -INFINITY : sinks_[head];
    for (uint32_t i = 0; i < count; ++i) highest = std::max(highest, scores[i]);
    Real sum = sinks_.empty() ? 0 : std::exp(sinks_[head] - highest);
    for (uint32_t i = 0; i < count; ++i) sum += scores[i] = std::exp(scores[i] - highest);
    for (uint32_t i = 0; i < count; ++i) scores[i] /= sum;
  }

  /// Loads the key of a position, [key_dim].
  void load_key(const tenon_step_sequence& sequence, uint64_t kv_head, uint32_t position,
                Real* key) const noexcept {
    const std::byte* row = step_.cache_row(sequence, params.group, params.layer, position);
    load_head(row + kv_head * key_bytes_, group.type, group.key_dim, key);
  }
  /// Loads the value of a position into the first value_dim values of `value`, which must have room
  /// for a key, too.
  void load_value(const tenon_step_sequence& sequence, uint64_t kv_head, uint32_t position,
                  Real* value) const noexcept {
    if (group.kind == TENON_CACHE_LATENT) return load_key(sequence, kv_head, position, value);
    const std::byte* row = step_.cache_row(sequence, params.group, params.layer, position);
    const std::byte* values = row + group.kv_heads * key_bytes_;  // after the keys of all heads
    load_head(values + kv_head * value_bytes_, group.type, group.value_dim, value);
  }

  const tenon_attention_params& params;
  const tenon_cache_group& group;
  const Matrix<Real> query;  ///< [T, heads x key_dim]
  Matrix<Real> out;          ///< [T, heads x value_dim]

 private:
  /// Bias of the score of position `i` for a token at position `own`.
  [[nodiscard]] Real bias_of(uint64_t head, int64_t own, int64_t i) const {
    if (params.bias == TENON_BIAS_ALIBI) {
      return -bias_[head] * static_cast<Real>(std::abs(own - i));
    }
    const auto buckets = static_cast<uint32_t>(bias_.size() / params.heads);
    return bias_[backends::relative_bucket(i - own, buckets, params) * params.heads + head];
  }

  const StepRun<Math>& step_;
  const StepVector<Real> sinks_;  ///< [heads] or empty
  const bool selects_;
  const Matrix<Real> selected_;  ///< [T, k] of a selection
  StepVector<Real> bias_;        ///< ALIBI: [heads]; RELATIVE: [buckets, heads]; or empty
  const uint64_t key_bytes_;     ///< per head
  const uint64_t value_bytes_;
};

inline bool fits_mask(const OpShape& shape) noexcept {
  const tenon_attention_params& params = shape.op->params.attention;
  const uint32_t kind = shape.group->kind;
  return params.mask <= TENON_MASK_CROSS &&
         (params.mask != TENON_MASK_CHUNKED || params.window > 0) &&
         (params.mask == TENON_MASK_CROSS) == (kind == TENON_CACHE_CROSS) &&
         (kind != TENON_CACHE_LATENT || shape.group->kv_heads == 1);
}

inline bool fits_bias(const OpShape& shape) noexcept {
  const tenon_attention_params& params = shape.op->params.attention;
  const tenon_slot* bias = shape.inputs[2];
  if (params.bias == TENON_BIAS_NONE) return bias == nullptr;
  if (params.bias == TENON_BIAS_ALIBI) {
    return bias != nullptr && bias->kind == TENON_SLOT_CONSTANT && bias->type == TENON_TYPE_F64 &&
           bias->columns == params.heads;
  }
  return params.bias == TENON_BIAS_RELATIVE && is_weight(bias, 0, params.heads) &&
         bias->rows >= (params.two_sided != 0 ? 4 : 2) &&
         params.max_distance > bias->rows / (params.two_sided != 0 ? 4 : 2);
}

inline bool fits_selection(const OpShape& shape) noexcept {
  const tenon_attention_params& params = shape.op->params.attention;
  return shape.inputs[3] == nullptr ||
         (is_integers(shape.inputs[3], shape.inputs[0]) &&
          (shape.group->kind == TENON_CACHE_LATENT || shape.group->kind == TENON_CACHE_FULL) &&
          (params.selections <= 1 || params.selections == shape.group->kv_heads) &&
          shape.inputs[3]->columns % backends::selection_parts(params) == 0 &&
          params.mask == TENON_MASK_CAUSAL && params.window == 0 && params.bias == TENON_BIAS_NONE);
}

inline bool fits_attention(const OpShape& shape) noexcept {
  const tenon_cache_group& group = *shape.group;
  const uint32_t heads = shape.op->params.attention.heads;
  return is_activation(shape.inputs[0], TENON_ROWS_TOKENS) &&
         is_activation(shape.outputs[0], TENON_ROWS_TOKENS) &&
         fits_cache(group.type, std::max(group.key_dim, group.value_dim)) &&
         group.block_tokens > 0 && group.kv_heads > 0 && heads > 0 && heads % group.kv_heads == 0 &&
         shape.inputs[0]->columns == uint64_t{heads} * group.key_dim &&
         shape.outputs[0]->columns == uint64_t{heads} * group.value_dim &&
         is_optional_vector(shape.inputs[1], heads) && fits_mask(shape) && fits_bias(shape) &&
         fits_selection(shape);
}

/// Runs per token and KV head.
template <typename Math>
void run_attention(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  Attention<Math> attention(step, op);
  const tenon_cache_group& group = attention.group;
  const uint64_t heads = attention.params.heads / group.kv_heads;  // per KV head
  const uint64_t room = attention.longest() * heads;
  const auto attend = [&](uint32_t t, uint64_t kv_head, Real* scores, Real* row) noexcept {
    const auto& [sequence, own] = step.place(t);
    const uint64_t first_head = kv_head * heads;
    const Real* queries = attention.query.row(t).data() + first_head * group.key_dim;
    Real* results = attention.out.row(t).data() + first_head * group.value_dim;
    const auto positions = attention.looked_at(t, kv_head);
    const uint32_t count = positions.count;
    for (uint32_t i = 0; i < count; ++i) {
      attention.load_key(*sequence, kv_head, positions[i], row);
      for (uint64_t h = 0; h < heads; ++h) {
        Real product = 0;
        for (uint64_t d = 0; d < group.key_dim; ++d)
          product += queries[h * group.key_dim + d] * row[d];
        scores[h * count + i] = attention.score(product, first_head + h, own, positions[i]);
      }
    }
    for (uint64_t h = 0; h < heads; ++h) {
      attention.softmax(first_head + h, scores + h * count, count);
    }
    std::fill_n(results, heads * group.value_dim, Real{0});
    for (uint32_t i = 0; i < count; ++i) {
      attention.load_value(*sequence, kv_head, positions[i], row);
      for (uint64_t h = 0; h < heads; ++h) {
        const Real weight = scores[h * count + i];
        Real* result = results + h * group.value_dim;
        for (uint64_t d = 0; d < group.value_dim; ++d) result[d] += weight * row[d];
      }
    }
  };
  step.for_each(uint64_t{step.num_rows(op.inputs[0])} * group.kv_heads,
                room + std::max(group.key_dim, group.value_dim),
                [&](uint64_t i, Real* scratch) noexcept {
                  attend(static_cast<uint32_t>(i / group.kv_heads), i % group.kv_heads, scratch,
                         scratch + room);
                });
}

}  // namespace tenon::plain
