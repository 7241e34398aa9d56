#include "backends/cpu/phases/op_run.h"
#include "backends/cpu/phases/recurrence.h"

namespace tenon::cpu {
namespace {

StateTiles ssm_scan_state_tiles(const OpRun& run, const tenon_op& op) noexcept {
  return ssm_scan_tiles(op.params.ssm_scan, run.plan().slots[op.inputs[0]].slot);
}

uint64_t ssm_scan_chunks(const OpRun& run, const tenon_op& op) noexcept {
  return ssm_scan_state_tiles(run, op).count();
}

void run_ssm_scan(OpRun& run, const RecurrentItem& item, uint32_t) noexcept {
  const tenon_op& op = item.op;
  const tenon_ssm_scan_params& params = op.params.ssm_scan;
  const StateTiles tiles = ssm_scan_state_tiles(run, op);
  const StateTile tile = tiles.tile(item.chunk);
  const uint32_t token = item.sequence.first_token;
  const bool channels = has_channels(params, run.plan().slots[op.inputs[0]].slot);
  const uint64_t first = tile.head * tiles.lanes + tile.first_lane;  // column of x
  const uint64_t head = channels ? first : tile.head;
  const uint64_t group = channels ? tile.head : tile.head / (params.heads / params.groups);
  const float* skip = run.vector(op.inputs[5]);
  SsmScanArgs args{};
  args.scan = begin_scan(run, item, tiles, tile, first);
  args.channels = channels;
  args.one_decay = run.columns(op.inputs[2]) == 1;
  args.x = run.f32_row(op.inputs[0], token) + first;
  args.dt = run.f32_row(op.inputs[1], token) + head;
  args.a = run.vector(op.inputs[2]) + head;
  args.b = run.f32_row(op.inputs[3], token) + group * params.size;
  args.c = run.f32_row(op.inputs[4], token) + group * params.size;
  args.skip = skip == nullptr ? nullptr : skip + head;
  args.dt_stride = args.a_stride = params.heads;
  args.b_stride = run.columns(op.inputs[3]);
  run.k.ssm_scan(args);
}

}  // namespace

constexpr CpuOperation ops::ssm_scan{.kind = TENON_OP_SSM_SCAN,
                                     .placement = Placement::Own,
                                     .fits = recurrence_fits,
                                     .transposed = 2,
                                     .phase = kRecurrentPhase<ssm_scan_chunks, run_ssm_scan>};

}  // namespace tenon::cpu
