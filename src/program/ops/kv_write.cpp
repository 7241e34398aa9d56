#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t kv_write_columns(const OpView& view) {
  const tenon_kv_params& kv = view.op.params.kv;
  const tenon_cache_group& group = group_of(view, kv.group, kv.layer);
  require(columns_of(view, 0) == uint64_t{group.kv_heads} * group.key_dim, view,
          fmt::format("the key has {} columns, the cache {} heads of {}", columns_of(view, 0),
                      group.kv_heads, group.key_dim));
  if (group.kind == TENON_CACHE_LATENT) {
    require(view.inputs[1] == nullptr, view, "values of a latent cache are a part of its keys");
    return 0;
  }
  require(view.inputs[1] != nullptr, view, "the value is missing");
  require(columns_of(view, 1) == uint64_t{group.kv_heads} * group.value_dim, view,
          fmt::format("the value has {} columns, the cache {} heads of {}", columns_of(view, 1),
                      group.kv_heads, group.value_dim));
  return 0;
}

}  // namespace

constexpr OpRule op_table::kv_write{.inputs = "ty", .outputs = "", .columns = kv_write_columns};

namespace op {

void kv_write(ProgramBuilder& builder, Slot k, Slot v, uint32_t group, uint32_t layer) {
  tenon_op op = new_op(TENON_OP_KV_WRITE);
  op.params.kv = {group, layer};
  builder.append(op, {k, v});
}

}  // namespace op
}  // namespace tenon
