#include "backends/cpu/phases/op_run.h"
#include "backends/cpu/phases/recurrence.h"

namespace tenon::cpu {
namespace {

StateTiles wkv7_state_tiles(const OpRun& run, const tenon_op& op) noexcept {
  return wkv7_tiles(op.params.wkv7, run.plan().slots[op.inputs[0]].slot);
}

uint64_t wkv7_chunks(const OpRun& run, const tenon_op& op) noexcept {
  return wkv7_state_tiles(run, op).count();
}

void run_wkv7(OpRun& run, const RecurrentItem& item, uint32_t) noexcept {
  const tenon_op& op = item.op;
  const StateTiles tiles = wkv7_state_tiles(run, op);
  const StateTile tile = tiles.tile(item.chunk);
  const uint64_t key = tile.head * tiles.rows;
  const auto input = [&](uint32_t i) {
    return run.f32_row(op.inputs[i], item.sequence.first_token) + key;
  };
  Wkv7Args args{};
  args.scan = begin_scan(run, item, tiles, tile, key + tile.first_lane);
  args.r = input(0);
  args.w = input(1);
  args.k = input(2);
  args.v = input(3) + tile.first_lane;
  args.a = input(4);
  args.b = input(5);
  run.k.wkv7(args);
}

}  // namespace

constexpr CpuOperation ops::wkv7{.kind = TENON_OP_WKV7,
                                 .placement = Placement::Own,
                                 .fits = recurrence_fits,
                                 .phase = kRecurrentPhase<wkv7_chunks, run_wkv7>};

}  // namespace tenon::cpu
