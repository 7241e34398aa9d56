#include <cmath>

#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t sinkhorn_columns(const OpView& view) {
  const tenon_sinkhorn_params& sinkhorn = view.op.params.sinkhorn;
  require(sinkhorn.size > 0 && columns_of(view, 0) == uint64_t{sinkhorn.size} * sinkhorn.size, view,
          fmt::format("{} columns are no matrix [{}, {}]", columns_of(view, 0), sinkhorn.size,
                      sinkhorn.size));
  require(sinkhorn.iterations > 0, view, "no iterations");
  require(std::isfinite(sinkhorn.epsilon) && sinkhorn.epsilon >= 0, view,
          "epsilon is negative or no number");
  return columns_of(view, 0);
}

}  // namespace

constexpr OpRule op_table::sinkhorn{
    .inputs = "x", .rows = RowRule::LikeInput, .columns = sinkhorn_columns};

namespace op {

Slot sinkhorn(ProgramBuilder& builder, Slot x, const SinkhornOptions& options) {
  tenon_op op = new_op(TENON_OP_SINKHORN);
  op.params.sinkhorn = {options.size, options.iterations, options.epsilon};
  return builder.add(op, {x});
}

}  // namespace op
}  // namespace tenon
