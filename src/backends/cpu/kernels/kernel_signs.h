// The linear kernel of q1_0, whose weights are signs. For a single activation row, the sums of four
// values with all signs are tabulated once, and four signs of a weight row look up their sum: half
// the operations. The integers equal those of kernel_integer.h. Included by kernels_<isa>.cpp after
// vec.h.
#pragma once

#include "backends/cpu/kernels/kernel_tiled.h"
#include "backends/cpu/layouts/panel_blocks_integer.h"

namespace tenon::cpu::TENON_CPU_ISA {

/// Least number of panels for which tables pay.
constexpr uint64_t kFewestTablePanels = 4;

/// Multiplies all panels with one row, as many blocks of k at a time as have their tables in the
/// tile.
template <typename PanelBlock, typename Tables>
void look_signs_up(const LinearArgs& args) {
  constexpr uint64_t kRoom = kTileDepth * kFloatPanelRows * sizeof(float) / Tables::kBytes;
  static_assert(kRoom % PanelBlock::kBlocks == 0);
  auto* tables = reinterpret_cast<uint8_t*>(args.tile);
  const uint64_t blocks = args.depth / kActivationBlock;
  for (uint64_t first = 0; first < blocks; first += kRoom) {
    const uint64_t count = blocks - first < kRoom ? blocks - first : kRoom;
    for (uint64_t b = 0; b < count; ++b) {
      Tables::make(args.quantised.q + (first + b) * kActivationBlock, tables + b * Tables::kBytes);
    }
    for (uint64_t p = 0; p < args.num_panels; ++p) {
      const uint8_t* panel_blocks = args.weights + (args.first_panel + p) * args.panel_bytes +
                                    first / PanelBlock::kBlocks * PanelBlock::kBytes;
      ReadAhead ahead{panel_blocks + args.panel_bytes, PanelBlock::kBytes / PanelBlock::kBlocks};
      float* y = results_at(args, p, 0);
      F32x16 acc = first == 0 ? broadcast(0.0f) : load(y);
      for (uint64_t b = 0; b < count; panel_blocks += PanelBlock::kBytes) {
        const PanelBlock panel_block(panel_blocks);
        for (uint32_t i = 0; i < PanelBlock::kBlocks; ++i, ++b) {
          ahead.next();
          const I32x16 dots =
              Tables::dots(panel_block.quants + i * Signs1::kBytes, tables + b * Tables::kBytes);
          acc = fma(to_f32(dots), mul(broadcast(args.quantised.d[first + b]), panel_block.d), acc);
        }
      }
      store(y, acc);
    }
  }
}

template <typename PanelBlock, typename Tables>
void linear_signs(const LinearArgs& args) noexcept {
  if constexpr (!std::is_void_v<Tables>) {
    if (args.num_rows == 1 && args.num_panels >= kFewestTablePanels) {
      return look_signs_up<PanelBlock, Tables>(args);
    }
  }
  linear_blocks<PanelBlock>(args);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
