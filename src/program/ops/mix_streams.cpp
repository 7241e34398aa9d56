#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t mix_streams_columns(const OpView& view) {
  const tenon_mix_streams_params& mix = view.op.params.mix_streams;
  const uint64_t columns = columns_of(view, 0);
  require(mix.streams > 0 && columns % mix.streams == 0, view,
          fmt::format("{} columns are not {} streams", columns, mix.streams));
  const uint64_t width = columns / mix.streams;
  require(mix.results > 0, view, "no results");
  require(view.inputs[1] != nullptr || mix.results == 1 || mix.results == mix.streams, view,
          fmt::format("{} results of {} streams without a matrix", mix.results, mix.streams));
  require((view.inputs[2] == nullptr) == (view.inputs[3] == nullptr), view,
          "what is added and its factors come together");
  require_columns(view, 1, uint64_t{mix.streams} * mix.results);
  require_columns(view, 2, width);
  require_columns(view, 3, mix.results);
  return width * mix.results;
}

}  // namespace

constexpr OpRule op_table::mix_streams{
    .inputs = "xyyy", .rows = RowRule::LikeInput, .columns = mix_streams_columns};

namespace op {

Slot mix_streams(ProgramBuilder& builder, Slot x, const MixOptions& options) {
  tenon_op op = new_op(TENON_OP_MIX_STREAMS);
  op.params.mix_streams = {options.streams, options.results};
  return builder.add(op, {x, options.matrix, options.added, options.factors});
}

}  // namespace op
}  // namespace tenon
