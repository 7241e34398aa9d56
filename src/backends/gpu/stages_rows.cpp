// Stages that compute a result row from one row of each input.
#include "backends/gpu/stage_operations.h"

namespace tenon::gpu {
namespace {

ElementwiseStage elementwise(const StageBuilder& b, const tenon_op& op, uint32_t second) {
  ElementwiseStage stage{};
  stage.step = b.addresses.step;
  stage.x = b.address(op.inputs[0]);
  stage.result = b.address(op.outputs[0]);
  stage.columns = b.columns(op.outputs[0]);
  stage.position_parts = b.program.view().position_parts;
  if (second == TENON_NO_SLOT) return stage;
  stage.y = b.address(second);
  stage.y_columns = b.columns(second);
  stage.y_is_vector = b.slot(second).kind == TENON_SLOT_WEIGHT ? 1 : 0;
  return stage;
}

/// A thread per column of the result.
StageBuilder::Grid by_columns(const StageBuilder& b, const tenon_op& op) {
  return {b.by_threads(b.columns(op.outputs[0])), b.slot(op.outputs[0]).row_class};
}

/// A group per segment of a row of x.
StageBuilder::Grid by_segments(const StageBuilder& b, const tenon_op& op, uint32_t segment) {
  const uint32_t x = op.inputs[0];
  return {StageBuilder::by_groups(b.columns(x) / segment), b.slot(x).row_class};
}

void add_elementwise(StageBuilder& b, const tenon_op& op, const ElementwiseStage& stage) {
  b.add(Kernel::elementwise, {op.kind}, stage, by_columns(b, op));
}

}  // namespace

void add_norm(StageBuilder& b, const tenon_op& op) {
  NormStage stage{};
  stage.x = b.address(op.inputs[0]);
  stage.weight = b.address(op.inputs[1]);
  stage.bias = b.address(op.inputs[2]);
  stage.y = b.address(op.outputs[0]);
  stage.columns = b.columns(op.outputs[0]);
  stage.segment = op.params.norm.segment;
  stage.epsilon = op.params.norm.epsilon;
  stage.kind = op.kind;
  b.add(Kernel::norm, {}, stage, by_segments(b, op, stage.segment));
}

void add_glu(StageBuilder& b, const tenon_op& op) {
  const tenon_glu_params& glu = op.params.glu;
  ElementwiseStage stage = elementwise(b, op, op.inputs[1]);
  stage.a = glu.alpha == 0 ? 1 : glu.alpha;
  stage.b = glu.limit;
  stage.c = glu.up_offset;
  stage.activation = glu.activation;
  stage.flag = glu.limit_after;
  add_elementwise(b, op, stage);
}

void add_activate(StageBuilder& b, const tenon_op& op) {
  const tenon_activate_params& activate = op.params.activate;
  ElementwiseStage stage = elementwise(b, op, TENON_NO_SLOT);
  stage.a = activate.alpha_p;
  stage.b = activate.alpha_n;
  stage.c = activate.beta;
  stage.d = activate.epsilon;
  stage.activation = activate.activation;
  add_elementwise(b, op, stage);
}

void add_scale(StageBuilder& b, const tenon_op& op) {
  ElementwiseStage stage = elementwise(b, op, TENON_NO_SLOT);
  stage.a = op.params.scale.factor;
  stage.b = op.params.scale.offset;
  add_elementwise(b, op, stage);
}

void add_soft_cap(StageBuilder& b, const tenon_op& op) {
  ElementwiseStage stage = elementwise(b, op, TENON_NO_SLOT);
  stage.a = op.params.soft_cap.cap;
  add_elementwise(b, op, stage);
}

/// Adds add, mul and sigmoid_gate.
void add_combination(StageBuilder& b, const tenon_op& op) {
  add_elementwise(b, op, elementwise(b, op, op.inputs[1]));
}

void add_position_scale(StageBuilder& b, const tenon_op& op) {
  ElementwiseStage stage = elementwise(b, op, TENON_NO_SLOT);
  stage.a = op.params.position_scale.scale;
  stage.activation = op.params.position_scale.length;
  stage.flag = op.params.position_scale.offset;
  add_elementwise(b, op, stage);
}

/// Adds sum_segments and softmax.
void add_segments(StageBuilder& b, const tenon_op& op) {
  SegmentsStage stage{};
  stage.x = b.address(op.inputs[0]);
  stage.y = b.address(op.outputs[0]);
  stage.columns = b.columns(op.inputs[0]);
  stage.segment = op.params.segments.size;
  b.add(Kernel::segments, {op.kind}, stage, by_segments(b, op, stage.segment));
}

void add_round(StageBuilder& b, const tenon_op& op) {
  RoundStage stage{};
  stage.x = b.address(op.inputs[0]);
  stage.y = b.address(op.outputs[0]);
  stage.columns = b.columns(op.inputs[0]);
  stage.segment = op.params.round.segment;
  stage.format = op.params.round.format;
  b.add(Kernel::round, {}, stage, by_segments(b, op, stage.segment));
}

void add_slice(StageBuilder& b, const tenon_op& op) {
  const tenon_slice_params& slice = op.params.slice;
  ColumnsStage stage{};
  stage.x = b.address(op.inputs[0]);
  stage.result = b.address(op.outputs[0]);
  stage.segments = b.columns(op.inputs[0]) / slice.segment;
  stage.x_segment = slice.segment;
  stage.x_first = slice.first;
  stage.x_columns = slice.columns;
  b.add(Kernel::columns, {}, stage, by_columns(b, op));
}

void add_concat(StageBuilder& b, const tenon_op& op) {
  const tenon_concat_params& concat = op.params.concat;
  ColumnsStage stage{};
  stage.x = b.address(op.inputs[0]);
  stage.y = b.address(op.inputs[1]);
  stage.result = b.address(op.outputs[0]);
  stage.segments = concat.segments;
  stage.x_segment = stage.x_columns = b.columns(op.inputs[0]) / concat.segments;
  stage.y_segment = b.columns(op.inputs[1]) / (concat.broadcast == 1 ? 1 : concat.segments);
  stage.y_broadcast = concat.broadcast;
  b.add(Kernel::columns, {}, stage, by_columns(b, op));
}

void add_pool(StageBuilder& b, const tenon_op& op) {
  PoolStage stage{};
  stage.step = b.addresses.step;
  stage.x = b.address(op.inputs[0]);
  stage.y = b.address(op.outputs[0]);
  stage.columns = b.columns(op.outputs[0]);
  stage.kind = op.params.pool.kind;
  b.add(Kernel::pool, {}, stage, {b.by_threads(stage.columns), TENON_ROWS_SEQUENCES});
}

void add_mix_streams(StageBuilder& b, const tenon_op& op) {
  const tenon_mix_streams_params& mix = op.params.mix_streams;
  MixStreamsStage stage{};
  stage.x = b.address(op.inputs[0]);
  stage.matrix = b.address(op.inputs[1]);
  stage.added = b.address(op.inputs[2]);
  stage.factors = b.address(op.inputs[3]);
  stage.y = b.address(op.outputs[0]);
  stage.streams = mix.streams;
  stage.results = mix.results;
  stage.width = b.columns(op.inputs[0]) / mix.streams;
  b.add(Kernel::mix_streams, {}, stage,
        {b.by_threads(stage.width), b.slot(op.outputs[0]).row_class});
}

void add_sinkhorn(StageBuilder& b, const tenon_op& op) {
  SinkhornStage stage{};
  stage.x = b.address(op.inputs[0]);
  stage.y = b.address(op.outputs[0]);
  stage.size = op.params.sinkhorn.size;
  stage.iterations = op.params.sinkhorn.iterations;
  stage.epsilon = op.params.sinkhorn.epsilon;
  b.add(Kernel::sinkhorn, {}, stage, {1, b.slot(op.outputs[0]).row_class});
}

}  // namespace tenon::gpu
