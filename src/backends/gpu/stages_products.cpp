// Stages that read matrices: rows by number, products, and mixtures of experts.
#include "backends/gpu/stage_operations.h"
#include "backends/gpu/unit_products.h"

namespace tenon::gpu {
namespace {

/// Rows of x per decoded weight in steps of few rows.
constexpr uint32_t kFewTokens = 4;

/// Values of a row copied per thread.
constexpr uint64_t kValuesOfThread = 8;

void add_rows(StageBuilder& b, const tenon_op& op, RowsStage stage,
              const StageBuilder::Decoder& decoder, uint32_t row_class) {
  stage.step = b.addresses.step;
  stage.table = b.address(op.inputs[0]);
  stage.y = b.address(op.outputs[0]);
  stage.grids = b.addresses.grids;
  stage.columns = b.columns(op.inputs[0]);
  stage.position_parts = b.program.view().position_parts;
  const uint64_t threads = (stage.columns + kValuesOfThread - 1) / kValuesOfThread;
  b.add(decoder.kernel(Kernel::rows_floats),
        {decoder.format, decoder.block_values, decoder.block_words}, stage,
        {b.by_threads(threads), row_class});
}

void add_product(StageBuilder& b, const tenon_op& op, uint32_t bias, uint32_t rows_of_head) {
  const uint32_t weight = op.inputs[1];
  LinearStage stage{};
  stage.step = b.addresses.step;
  stage.x = b.address(op.inputs[0]);
  stage.weight = b.address(weight);
  stage.bias = b.address(bias);
  stage.y = b.address(op.outputs[0]);
  stage.grids = b.addresses.grids;
  stage.row_bytes = b.row_bytes(weight);
  stage.row_class = b.slot(op.outputs[0]).row_class;
  stage.rows = static_cast<uint32_t>(b.slot(weight).rows);
  stage.columns = b.columns(weight);
  stage.x_columns = b.columns(op.inputs[0]);
  stage.rows_of_head = rows_of_head;
  const StageBuilder::Decoder decoder = b.decoder(weight);
  const auto add = [&](uint32_t tokens, uint32_t rows, StageBuilder::Grid grid) {
    grid.groups = b.by_subgroups((stage.rows + rows - 1) / rows);
    grid.row_class = stage.row_class;
    grid.rows_of_group = tokens;
    const uint32_t tile = (rows - 1) * 16 + tokens;
    b.add(decoder.kernel(Kernel::linear_floats),
          {decoder.format, decoder.block_values, decoder.block_words, tile}, stage, grid);
  };
  const uint32_t tile_rows = b.limits.linear_rows;
  const bool has_one_part = rows_of_head == stage.rows || rows_of_head % tile_rows == 0;
  if (tile_rows == 1 || !has_one_part) return add(kFewTokens, 1, {});
  add(kFewTokens, 1, {.most_rows = kNarrowTokens});
  add(b.limits.linear_tokens, tile_rows, {.least_rows = kNarrowTokens + 1});
}

}  // namespace

void add_embed(StageBuilder& b, const tenon_op& op) {
  RowsStage stage{};
  const bool by_token = op.params.embed.source == TENON_EMBED_TOKENS;
  stage.source = by_token ? kRowsByToken : kRowsByPosition;
  stage.row_bytes = b.row_bytes(op.inputs[0]);
  stage.heads = 1;
  add_rows(b, op, stage, b.decoder(op.inputs[0]), TENON_ROWS_TOKENS);
}

void add_gather_rows(StageBuilder& b, const tenon_op& op) {
  RowsStage stage{};
  stage.source = kRowsByOutput;
  stage.row_bytes = uint64_t{b.columns(op.inputs[0])} * sizeof(float);
  stage.heads = 1;
  add_rows(b, op, stage, {TENON_TYPE_F32, 1, 1}, TENON_ROWS_OUTPUTS);
}

void add_ngram_rows(StageBuilder& b, const tenon_op& op) {
  RowsStage stage{};
  stage.source = kRowsByNgram;
  stage.row_bytes = b.row_bytes(op.inputs[0]);
  stage.heads = static_cast<uint32_t>(b.slot(op.inputs[2]).rows);
  stage.first_number = b.step_data.ngram_rows_before(b.op_number);
  add_rows(b, op, stage, b.decoder(op.inputs[0]), TENON_ROWS_TOKENS);
}

void add_linear(StageBuilder& b, const tenon_op& op) {
  if (b.is_in_units(op.inputs[1])) return add_unit_linear(b, op);
  add_product(b, op, op.inputs[2], b.columns(op.outputs[0]));
}

void add_linear_heads(StageBuilder& b, const tenon_op& op) {
  const uint32_t rows = b.columns(op.outputs[0]);
  add_product(b, op, TENON_NO_SLOT, rows / op.params.linear_heads.heads);
}

void add_moe_route(StageBuilder& b, const tenon_op& op) {
  const tenon_moe_route_params& route = op.params.moe_route;
  MoeRouteStage stage{};
  stage.step = b.addresses.step;
  stage.logits = b.address(op.inputs[0]);
  stage.bias = b.address(op.inputs[1]);
  stage.expert_scale = b.address(op.inputs[2]);
  stage.told = b.address(op.inputs[3]);
  stage.ids = b.address(op.outputs[0]);
  stage.weights = b.address(op.outputs[1]);
  stage.keys = b.addresses.scratch;
  stage.experts = b.columns(op.inputs[0]);
  stage.used = route.used;
  stage.scoring = route.scoring;
  stage.normalise = route.normalise;
  stage.groups = route.groups;
  stage.groups_used = route.groups_used;
  stage.scale = route.scale;
  stage.min_sum = route.min_sum;
  stage.closeness = route.closeness;
  b.add(Kernel::moe_route, {}, stage, {1, b.slot(op.inputs[0]).row_class});
}

void add_moe_linear(StageBuilder& b, const tenon_op& op) {
  const tenon_moe_linear_params& moe = op.params.moe_linear;
  const uint32_t weight = op.inputs[2];
  MoeLinearStage stage{};
  stage.step = b.addresses.step;
  stage.x = b.address(op.inputs[0]);
  stage.ids = b.address(op.inputs[1]);
  stage.weights = b.address(op.inputs[3]);
  stage.weight = b.address(weight);
  stage.bias = b.address(op.inputs[4]);
  stage.y = b.address(op.outputs[0]);
  stage.grids = b.addresses.grids;
  stage.row_bytes = b.row_bytes(weight);
  stage.rows = static_cast<uint32_t>(b.slot(weight).rows / moe.experts);
  stage.columns = b.columns(weight);
  stage.x_columns = b.columns(op.inputs[0]);
  stage.used = b.columns(op.inputs[1]);
  stage.sum = moe.sum;
  stage.weigh_inputs = moe.weigh == TENON_MOE_WEIGHT_INPUTS ? 1 : 0;
  const StageBuilder::Decoder decoder = b.decoder(weight);
  b.add(decoder.kernel(Kernel::moe_linear_floats),
        {decoder.format, decoder.block_values, decoder.block_words}, stage,
        {b.by_subgroups(b.columns(op.outputs[0])), b.slot(op.outputs[0]).row_class});
}

}  // namespace tenon::gpu
