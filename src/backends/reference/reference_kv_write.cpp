// kv_write: keys and values of the step into the blocks of their sequences; a latent row is a key.
#include <algorithm>

#include "backends/reference/reference_cache.h"
#include "backends/reference/reference_ops.h"
#include "backends/reference/reference_step.h"

namespace tenon::reference {

namespace {

bool fits_values(const OpShape& shape) noexcept {
  const tenon_cache_group& group = *shape.group;
  if (group.kind == TENON_CACHE_LATENT) {
    return shape.inputs[1] == nullptr && group.kv_heads == 1 && group.value_dim <= group.key_dim;
  }
  return is_activation(shape.inputs[1], TENON_ROWS_TOKENS) &&
         shape.inputs[1]->columns == uint64_t{group.kv_heads} * group.value_dim;
}

}  // namespace

bool fits_kv_write(const OpShape& shape) noexcept {
  const tenon_cache_group& group = *shape.group;
  return is_activation(shape.inputs[0], TENON_ROWS_TOKENS) && shape.outputs[0] == nullptr &&
         fits_cache(group.type, std::max(group.key_dim, group.value_dim)) &&
         group.block_tokens > 0 &&
         shape.inputs[0]->columns == uint64_t{group.kv_heads} * group.key_dim && fits_values(shape);
}

void run_kv_write(StepRun& step, const tenon_op& op) {
  const tenon_kv_params& kv = op.params.kv;
  const tenon_cache_group& group = step.group(kv.group);
  for (uint32_t t = 0; t < step.num_rows(op.inputs[0]); ++t) {
    const TokenPlace& place = step.place(t);
    std::byte* head = step.cache_row(*place.sequence, kv.group, kv.layer, place.position);
    const auto store = [&](uint32_t slot, uint64_t dim) {
      const Matrix rows = step.activation(slot);
      for (uint64_t h = 0; h < group.kv_heads; ++h) {
        store_head(head, group.type, rows.row(t).data() + h * dim, dim);
        head += cache_head_bytes(group.type, dim);
      }
    };
    store(op.inputs[0], group.key_dim);
    if (group.kind != TENON_CACHE_LATENT) store(op.inputs[1], group.value_dim);
  }
}

}  // namespace tenon::reference
