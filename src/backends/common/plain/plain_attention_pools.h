// attention_pools: over the last positions and compressed rows, token by token and head by head
// (DeepSeek-V4, as in `transformers`, models/deepseek_v4).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "abi/cache_rows.h"
#include "backends/common/plain/plain_cache.h"
#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

inline bool fits_attention_pools(const OpShape& shape) noexcept {
  const tenon_attention_pools_params& params = shape.op->params.attention_pools;
  const tenon_cache_group& group = *shape.group;
  const tenon_cache_group& compressed = *shape.compressed_group;
  const tenon_slot* selection = shape.inputs[2];
  return group.kind == TENON_CACHE_LATENT && compressed.kind == TENON_CACHE_LATENT &&
         group.kv_heads == 1 && compressed.kv_heads == 1 && group.key_dim == compressed.key_dim &&
         group.value_dim == compressed.value_dim && group.value_dim <= group.key_dim &&
         group.type == compressed.type && group.block_tokens > 0 && compressed.block_tokens > 0 &&
         backends::row_stride(group) == 1 && compressed.window == 0 &&
         fits_cache(group.type, group.key_dim) && params.heads > 0 &&
         is_activation(shape.inputs[0], TENON_ROWS_TOKENS) &&
         is_activation(shape.outputs[0], TENON_ROWS_TOKENS) &&
         shape.inputs[0]->columns == uint64_t{params.heads} * group.key_dim &&
         shape.outputs[0]->columns == uint64_t{params.heads} * group.value_dim &&
         is_optional_vector(shape.inputs[1], params.heads) &&
         (selection == nullptr || is_integers(selection, shape.inputs[0]));
}

template <typename Math>
void run_attention_pools(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const tenon_attention_pools_params& params = op.params.attention_pools;
  const tenon_cache_group& group = step.group(params.group);
  const tenon_cache_group& compressed = step.group(params.pool_group);
  const auto query = step.activation(op.inputs[0]);
  const bool selects = op.inputs[2] != TENON_NO_SLOT;
  const auto selected = step.activation(selects ? op.inputs[2] : op.inputs[0]);
  const StepVector<Real> sinks = step.weight_vector(op.inputs[1]);
  auto out = step.activation(op.outputs[0]);
  StepVector<StepVector<Real>> rows(step.lists());  // rows that a token attends to
  const auto add_row = [&](const std::byte* row) {
    rows.emplace_back(group.key_dim);
    load_head(row, group.type, group.key_dim, rows.back().data());
  };
  for (uint32_t t = 0; t < step.num_rows(op.inputs[0]); ++t) {
    const auto& place = step.place(t);
    const uint32_t own = place.position;
    rows.clear();
    const uint32_t first = params.window > 0 && own >= params.window ? own - params.window + 1 : 0;
    for (uint32_t i = first; i <= own; ++i) {
      add_row(step.cache_row(*place.sequence, params.group, params.layer, i));
    }
    const uint32_t seen = backends::num_rows_before(compressed, own + 1);
    const auto add_compressed = [&](uint32_t j) {
      add_row(step.cache_row(*place.sequence, params.pool_group, params.pool_layer,
                             backends::position_of_row(compressed, j)));
    };
    if (selects) {
      const auto numbers = selected.row(t);
      for (Eigen::Index j = 0; j < numbers.size() && numbers[j] >= 0; ++j) {
        add_compressed(static_cast<uint32_t>(numbers[j]));
      }
    } else {
      for (uint32_t j = 0; j < seen; ++j) add_compressed(j);
    }
    auto scores = step.template list<Real>(rows.size());
    for (uint32_t h = 0; h < params.heads; ++h) {
      const Real* q = query.row(t).data() + uint64_t{h} * group.key_dim;
      Real highest = sinks.empty() ? -INFINITY : sinks[h];
      for (size_t i = 0; i < rows.size(); ++i) {
        Real product = 0;
        for (uint32_t d = 0; d < group.key_dim; ++d) product += q[d] * rows[i][d];
        scores[i] = product * params.scale;
        highest = std::max(highest, scores[i]);
      }
      Real sum = sinks.empty() ? 0 : std::exp(sinks[h] - highest);
      for (Real& score : scores) sum += score = std::exp(score - highest);
      Real* result = out.row(t).data() + uint64_t{h} * group.value_dim;
      std::fill_n(result, group.value_dim, Real{0});
      for (size_t i = 0; i < rows.size(); ++i) {
        for (uint32_t d = 0; d < group.value_dim; ++d) result[d] += scores[i] / sum * rows[i][d];
      }
    }
  }
}

}  // namespace tenon::plain
