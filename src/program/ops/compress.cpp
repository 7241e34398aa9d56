#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t compress_columns(const OpView& view) {
  const tenon_compress_params& compress = view.op.params.compress;
  const tenon_cache_group& group = group_of(view, compress.group, compress.layer);
  require(
      group.kind == TENON_CACHE_WINDOW && group.kv_heads == 1 && group.key_dim == group.value_dim,
      view, "its cache group has no values and gates of equal size for a window of positions");
  require(compress.overlap <= 1, view, "overlap is neither 0 nor 1");
  const uint32_t parts = compress.overlap + 1;
  require(compress.stride > 0 && uint64_t{compress.stride} * parts <= group.window, view,
          fmt::format("a pool of {} positions in a window of {}{}", compress.stride, group.window,
                      compress.overlap == 1 ? ", and the pool before it" : ""));
  require(compress.overlap == 0 || group.stride <= 1, view,
          "pools that overlap need more than a cache group of pools keeps");
  require(group.key_dim % parts == 0, view,
          fmt::format("{} columns are not those of two pools", group.key_dim));
  require(group.stride <= 1 || group.stride == compress.stride, view,
          fmt::format("a pool of {} positions in a cache group of pools of {}", compress.stride,
                      group.stride));
  const tenon_slot& bias = *view.inputs[0];
  require(bias.rows == compress.stride && bias.columns == group.key_dim, view,
          fmt::format("\"{}\" is [{}, {}], expected [{}, {}]", bias.name, bias.rows, bias.columns,
                      compress.stride, group.key_dim));
  return group.key_dim / parts;
}

}  // namespace

constexpr OpRule op_table::compress{.inputs = "W", .columns = compress_columns};

namespace op {

Slot compress(ProgramBuilder& builder, Slot bias, const CompressOptions& options) {
  tenon_op op = new_op(TENON_OP_COMPRESS);
  op.params.compress = {options.group, options.layer, options.stride, options.overlap ? 1u : 0u};
  return builder.add(op, {bias});
}

}  // namespace op
}  // namespace tenon
