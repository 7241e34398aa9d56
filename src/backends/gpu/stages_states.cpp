// Stages of operations that carry a state from token to token.
#include "abi/recurrence.h"
#include "backends/gpu/stage_operations.h"

namespace tenon::gpu {
namespace {

void add_filter(StageBuilder& b, const tenon_op& op, ConvStage stage) {
  stage.step = b.addresses.step;
  stage.x = b.address(op.inputs[0]);
  stage.y = b.address(op.outputs[0]);
  stage.state = b.state(op.params.state);
  stage.columns = b.columns(op.inputs[0]);
  b.add(Kernel::conv, {}, stage, {b.by_threads(stage.columns), TENON_ROWS_SEQUENCES});
}

}  // namespace

void add_token_shift(StageBuilder& b, const tenon_op& op) {
  ConvStage stage{};
  stage.taps = 2;
  add_filter(b, op, stage);
}

void add_conv(StageBuilder& b, const tenon_op& op) {
  ConvStage stage{};
  stage.weight = b.address(op.inputs[1]);
  stage.bias = b.address(op.inputs[2]);
  stage.taps = b.columns(op.inputs[1]);
  add_filter(b, op, stage);
}

void add_ssm_scan(StageBuilder& b, const tenon_op& op) {
  const tenon_ssm_scan_params& scan = op.params.ssm_scan;
  SsmScanStage stage{};
  stage.step = b.addresses.step;
  stage.x = b.address(op.inputs[0]);
  stage.dt = b.address(op.inputs[1]);
  stage.a = b.address(op.inputs[2]);
  stage.b = b.address(op.inputs[3]);
  stage.c = b.address(op.inputs[4]);
  stage.d = b.address(op.inputs[5]);
  stage.y = b.address(op.outputs[0]);
  stage.state = b.state(scan.state);
  stage.heads = scan.heads;
  stage.head_dim = b.columns(op.inputs[0]) / scan.heads;
  stage.groups = scan.groups;
  stage.size = scan.size;
  stage.decays = b.columns(op.inputs[2]);
  b.add(Kernel::ssm_scan, {}, stage, {b.by_threads(b.columns(op.inputs[0])), TENON_ROWS_SEQUENCES});
}

void add_delta_rule(StageBuilder& b, const tenon_op& op) {
  const tenon_delta_rule_params& rule = op.params.delta_rule;
  DeltaRuleStage stage{};
  stage.step = b.addresses.step;
  stage.q = b.address(op.inputs[0]);
  stage.k = b.address(op.inputs[1]);
  stage.v = b.address(op.inputs[2]);
  stage.decay = b.address(op.inputs[3]);
  stage.beta = b.address(op.inputs[4]);
  stage.y = b.address(op.outputs[0]);
  stage.state = b.state(rule.state);
  stage.key_heads = rule.key_heads;
  stage.value_heads = rule.value_heads;
  stage.key_dim = b.columns(op.inputs[0]) / rule.key_heads;
  stage.value_dim = b.columns(op.inputs[2]) / rule.value_heads;
  stage.interleaved = rule.interleaved;
  stage.decay_of_channels = b.columns(op.inputs[3]) != rule.value_heads ? 1 : 0;
  stage.scale = rule.scale;
  b.add(Kernel::delta_rule, {}, stage,
        {b.by_threads(b.columns(op.inputs[2])), TENON_ROWS_SEQUENCES});
}

/// Adds wkv7 and wkv6.
void add_wkv(StageBuilder& b, const tenon_op& op) {
  const bool is_wkv7 = op.kind == TENON_OP_WKV7;
  WkvStage stage{};
  stage.step = b.addresses.step;
  stage.r = b.address(op.inputs[0]);
  stage.w = b.address(op.inputs[1]);
  stage.k = b.address(op.inputs[2]);
  stage.v = b.address(op.inputs[3]);
  stage.a = is_wkv7 ? b.address(op.inputs[4]) : 0;
  stage.b = is_wkv7 ? b.address(op.inputs[5]) : 0;
  stage.bonus = is_wkv7 ? 0 : b.address(op.inputs[4]);
  stage.y = b.address(op.outputs[0]);
  stage.state = b.state(op.params.state);
  stage.heads = is_wkv7 ? op.params.wkv7.heads : op.params.wkv6.heads;
  stage.dim = b.columns(op.inputs[0]) / stage.heads;
  b.add(Kernel::wkv, {op.kind}, stage,
        {b.by_threads(b.columns(op.inputs[0])), TENON_ROWS_SEQUENCES});
}

}  // namespace tenon::gpu
