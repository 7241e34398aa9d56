#include "backends/cpu/phases/op_run.h"
#include "backends/cpu/phases/recurrence.h"

namespace tenon::cpu {
namespace {

StateTiles wkv6_state_tiles(const OpRun& run, const tenon_op& op) noexcept {
  return wkv6_tiles(op.params.wkv6, run.plan().slots[op.inputs[0]].slot);
}

uint64_t wkv6_chunks(const OpRun& run, const tenon_op& op) noexcept {
  return wkv6_state_tiles(run, op).count();
}

void run_wkv6(OpRun& run, const RecurrentItem& item, uint32_t) noexcept {
  const tenon_op& op = item.op;
  const StateTiles tiles = wkv6_state_tiles(run, op);
  const StateTile tile = tiles.tile(item.chunk);
  const uint64_t key = tile.head * tiles.rows;
  const auto input = [&](uint32_t i) {
    return run.f32_row(op.inputs[i], item.sequence.first_token) + key;
  };
  const float* bonus = run.vector(op.inputs[4]);
  Wkv6Args args{};
  args.scan = begin_scan(run, item, tiles, tile, key + tile.first_lane);
  args.r = input(0);
  args.w = input(1);
  args.k = input(2);
  args.v = input(3) + tile.first_lane;
  args.u = bonus == nullptr ? nullptr : bonus + key;
  run.k.wkv6(args);
}

}  // namespace

constexpr CpuOperation ops::wkv6{.kind = TENON_OP_WKV6,
                                 .placement = Placement::Own,
                                 .fits = recurrence_fits,
                                 .phase = kRecurrentPhase<wkv6_chunks, run_wkv6>};

}  // namespace tenon::cpu
