// kv_write: stores the step's keys and values in the blocks of their sequences; a latent row is a
// key.
#pragma once

#include <algorithm>

#include "backends/common/plain/plain_cache.h"
#include "backends/common/plain/plain_shape.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::plain {

/// True if the values of a kv_write fit its group.
inline bool fits_values(const OpShape& shape) noexcept {
  const tenon_cache_group& group = *shape.group;
  if (group.kind == TENON_CACHE_LATENT) {
    return shape.inputs[1] == nullptr && group.kv_heads == 1 && group.value_dim <= group.key_dim;
  }
  return is_activation(shape.inputs[1], TENON_ROWS_TOKENS) &&
         shape.inputs[1]->columns == uint64_t{group.kv_heads} * group.value_dim;
}

inline bool fits_kv_write(const OpShape& shape) noexcept {
  const tenon_cache_group& group = *shape.group;
  return is_activation(shape.inputs[0], TENON_ROWS_TOKENS) && shape.outputs[0] == nullptr &&
         fits_cache(group.type, std::max(group.key_dim, group.value_dim)) &&
         group.block_tokens > 0 &&
         shape.inputs[0]->columns == uint64_t{group.kv_heads} * group.key_dim && fits_values(shape);
}

template <typename Math>
void run_kv_write(StepRun<Math>& step, const tenon_op& op) {
  const tenon_kv_params& kv = op.params.kv;
  const tenon_cache_group& group = step.group(kv.group);
  using Real = typename Math::Real;
  step.for_each(step.num_rows(op.inputs[0]), 0, [&](uint64_t t, Real*) noexcept {
    const TokenPlace& place = step.place(static_cast<uint32_t>(t));
    if (!backends::has_row(group, place.position)) return;
    std::byte* head = step.cache_row(*place.sequence, kv.group, kv.layer, place.position);
    const auto store = [&](uint32_t slot, uint64_t dim) {
      const auto rows = step.activation(slot);
      for (uint64_t h = 0; h < group.kv_heads; ++h) {
        store_head(head, group.type, rows.row(static_cast<Eigen::Index>(t)).data() + h * dim, dim);
        head += cache_head_bytes(group.type, dim);
      }
    };
    store(op.inputs[0], group.key_dim);
    if (group.kind != TENON_CACHE_LATENT) store(op.inputs[1], group.value_dim);
  });
}

}  // namespace tenon::plain
