// compress: a row from several positions, weighted per column.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "backends/common/plain/plain_cache.h"
#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

inline bool fits_compress(const OpShape& shape) noexcept {
  const tenon_compress_params& params = shape.op->params.compress;
  const tenon_cache_group& group = *shape.group;
  const uint64_t parts = uint64_t{1} + params.overlap;
  return params.overlap <= 1 && params.stride > 0 && group.kind == TENON_CACHE_WINDOW &&
         group.kv_heads == 1 && group.key_dim == group.value_dim && group.block_tokens > 0 &&
         group.window >= params.stride * parts && group.key_dim % parts == 0 &&
         (params.overlap == 0 || group.stride <= 1) && fits_cache(group.type, group.key_dim) &&
         is_weight(shape.inputs[0], params.stride, group.key_dim) &&
         is_activation(shape.outputs[0], TENON_ROWS_TOKENS) &&
         shape.outputs[0]->columns * parts == group.key_dim;
}

template <typename Math>
void run_compress(StepRun<Math>& step, const tenon_op& op) {
  using Real = typename Math::Real;
  const tenon_compress_params& params = op.params.compress;
  const tenon_cache_group& group = step.group(params.group);
  const StepVector<Real> bias = step.weight_rows(op.inputs[0]);  // [stride, key_dim]
  auto out = step.activation(op.outputs[0]);
  const auto columns = static_cast<uint64_t>(out.cols());
  const uint64_t key_bytes = cache_head_bytes(group.type, group.key_dim);
  auto value = step.template list<Real>(group.key_dim);
  auto gate = step.template list<Real>(group.key_dim);
  auto highest = step.template list<Real>(columns);
  auto sum = step.template list<Real>(columns);
  auto result = step.template list<Real>(columns);
  for (uint32_t t = 0; t < step.num_rows(op.outputs[0]); ++t) {
    const auto& place = step.place(t);
    const uint32_t own = place.position;
    out.row(t).setZero();
    if (own % params.stride != params.stride - 1) continue;
    // Calls body(column, value, gate) for each position's contribution.
    const uint32_t begin = own + 1 - params.stride;
    const bool overlaps = params.overlap == 1;
    const auto each = [&](const auto& body) {
      for (uint32_t i = overlaps && begin > 0 ? begin - params.stride : begin; i <= own; ++i) {
        // The block's own half comes second.
        const uint64_t from = overlaps && i >= begin ? columns : 0;
        const std::byte* row = step.cache_row(*place.sequence, params.group, params.layer, i);
        load_head(row, group.type, group.key_dim, value.data());
        load_head(row + key_bytes, group.type, group.key_dim, gate.data());
        for (uint64_t c = 0; c < columns; ++c) {
          const uint64_t at = from + c;
          body(c, value[at], gate[at] + bias[i % params.stride * group.key_dim + at]);
        }
      }
    };
    std::fill(highest.begin(), highest.end(), static_cast<Real>(-INFINITY));
    std::fill(sum.begin(), sum.end(), Real{0});
    std::fill(result.begin(), result.end(), Real{0});
    each([&](uint64_t c, Real, Real logit) { highest[c] = std::max(highest[c], logit); });
    each([&](uint64_t c, Real x, Real logit) {
      const Real weight = std::exp(logit - highest[c]);
      sum[c] += weight;
      result[c] += weight * x;
    });
    for (uint64_t c = 0; c < columns; ++c) out(t, c) = result[c] / sum[c];
  }
}

}  // namespace tenon::plain
