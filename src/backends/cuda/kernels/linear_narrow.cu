// linear_narrow: products of weights in units with up to 8 rows of x, bound by reading the weights.
// A group processes a tile of 16 rows, or shares it; each of its warps reads a part of the columns
// through its own ring. The last group to arrive adds the parts in order.
#include "backends/cuda/kernels/device_arrival.h"
#include "backends/cuda/kernels/device_unit_linear.h"

namespace tenon::cuda {

template <typename Format>
struct LinearNarrow {
  gpu::UnitLinearStage stage;
  Constants constants;

  static constexpr Ring kRing = narrow_ring(Format::kFormat);
  static constexpr uint kSums = gpu::kUnitRows * gpu::kRowUnitRows;  // of a tile

  // Multiplies quarters [begin, end) into the lane's sums.
  TENON_DEVICE void multiply(uint tile, uint row_tile, uint count, uint begin, uint end,
                             float (&sums)[1][1][4]) const {
    const UnitOperands<Format> operands{stage};
    char* ring = dynamic_shared<char>() + warp() * kRing.stages * kRing.stage_bytes;
    const auto request = [&](uint quarter) {
      if (quarter < end) {
        char* to = ring + (quarter - begin) % kRing.stages * kRing.stage_bytes;
        operands.copy_weights(to, tile, quarter);
        operands.copy_x(to + kRing.weight_bytes, row_tile, quarter, count);
      }
      commit_copies();
    };
    for (uint i = 0; i + 1 < kRing.stages; ++i) request(begin + i);
    for (uint quarter = begin; quarter < end; ++quarter) {
      wait_for_copies<kRing.stages - 2>();
      warp_barrier();  // the stage to refill has been multiplied by all lanes
      request(quarter + kRing.stages - 1);
      const char* at = ring + (quarter - begin) % kRing.stages * kRing.stage_bytes;
      for (uint load = 0; load < kLoadsOfQuarter; ++load) {
        const Format weights[1] = {operands.weights_at(at, load)};
        multiply_load(weights, at + kRing.weight_bytes, load, sums);
      }
    }
  }

  TENON_DEVICE void run() const {
    TENON_SHARED(float, group_sums, gpu::kMostPartsOfGroup* kSums);
    const UnitOperands<Format> operands{stage};
    const uint tile = group_x() / stage.groups_of_tile;
    const uint part = group_x() % stage.groups_of_tile * num_warps() + warp();
    const uint first = group_y() * gpu::kRowUnitRows;
    const uint rows = rows_of(Step(stage.step), stage.row_class);
    const uint count = smaller(uint{gpu::kRowUnitRows}, rows - first);

    float sums[1][1][4] = {};
    const uint begin = part * stage.units_of_part;
    const uint end = smaller(begin + stage.units_of_part, stage.units);
    if (begin < end) {
      multiply(tile, group_y(), count, begin * kQuartersOfUnit, end * kQuartersOfUnit, sums);
    }
    const bool shares = stage.groups_of_tile > 1;
    float* parts = group_sums;
    uint num_parts = num_warps();
    if (shares) {
      parts = Floats(stage.parts).at + Address(tile) * stage.num_parts * kSums;
      num_parts = stage.num_parts;
    }
    // Row lane / 4 (+ 8), columns 2 (lane % 4) and the next, as [8 rows of x][16 rows].
    const uint own = shares ? part : warp();
    for (uint i = 0; i < 4 && own < num_parts; ++i) {
      const uint x_row = lane() % 4 * 2 + i % 2;
      parts[own * kSums + x_row * gpu::kUnitRows + lane() / 4 + i / 2 * 8] = sums[0][0][i];
    }
    if (shares) {
      if (!comes_last(stage.arrived + Address(tile) * sizeof(uint), stage.groups_of_tile)) return;
    } else {
      barrier();
    }
    for (uint i = thread_number(); i < kSums; i += num_threads()) {
      const uint row = tile * gpu::kUnitRows + i % gpu::kUnitRows;
      const uint x_row = i / gpu::kUnitRows;
      if (row >= stage.rows || x_row >= count) continue;
      float sum = 0;
      for (uint p = 0; p < num_parts; ++p) sum += parts[p * kSums + i];
      operands.store(row, first + x_row, sum);
    }
  }
};

}  // namespace tenon::cuda

#define TENON_NARROW(name, format)                                              \
  TENON_BOUND_ENTRY(linear_narrow_##name, tenon::cuda::kNarrowThreads, 2, true, \
                    tenon::cuda::LinearNarrow<tenon::cuda::format>)
TENON_NARROW(f16, UnitsF16)
TENON_NARROW(q8_0, UnitsQ8_0)
TENON_NARROW(q4_k, UnitsQ4_K)
TENON_NARROW(q6_k, UnitsQ6_K)
#undef TENON_NARROW
