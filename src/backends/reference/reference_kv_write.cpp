// kv_write: keys and values of the step into the blocks of their sequences.
#include "backends/reference/reference_cache.h"
#include "backends/reference/reference_ops.h"
#include "backends/reference/reference_step.h"

namespace tenon::reference {

bool fits_kv_write(const OpShape& shape) noexcept {
  const tenon_kv_group& group = *shape.group;
  return is_activation(shape.inputs[0], TENON_ROWS_TOKENS) &&
         is_activation(shape.inputs[1], TENON_ROWS_TOKENS) && shape.output == nullptr &&
         (group.type == TENON_TYPE_F32 || group.type == TENON_TYPE_F16) && group.block_tokens > 0 &&
         shape.inputs[0]->columns == uint64_t{group.kv_heads} * group.key_dim &&
         shape.inputs[1]->columns == uint64_t{group.kv_heads} * group.value_dim;
}

void run_kv_write(StepRun& step, const tenon_op& op) {
  const tenon_kv_params& kv = op.params.kv;
  const uint32_t type = step.group(kv.group).type;
  const Matrix keys = step.activation(op.inputs[0]);
  const Matrix values = step.activation(op.inputs[1]);
  for (uint32_t t = 0; t < step.num_rows(op.inputs[0]); ++t) {
    const TokenPlace& place = step.place(t);
    std::byte* row = step.cache_row(*place.sequence, kv.group, kv.layer, place.position);
    for (Eigen::Index i = 0; i < keys.cols(); ++i) {
      store_element(row, static_cast<uint64_t>(i), type, keys(t, i));
    }
    for (Eigen::Index i = 0; i < values.cols(); ++i) {
      store_element(row, static_cast<uint64_t>(keys.cols() + i), type, values(t, i));
    }
  }
}

}  // namespace tenon::reference
