// Kernels of the instruction set TENON_CPU_ISA that depend on its byte products: linears, and the
// quantisation for them. Sets without other additions take the remaining kernels from a smaller
// set.
#pragma once

#include "backends/cpu/kernels/kernel_fixed.h"
#include "backends/cpu/kernels/kernel_float.h"
#include "backends/cpu/kernels/kernel_quantise.h"
#include "backends/cpu/kernels/kernel_signs.h"
#include "backends/cpu/kernels/kernel_tiled.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/layouts/panel_blocks_codebook.h"
#include "backends/cpu/layouts/panel_blocks_groups.h"
#include "backends/cpu/layouts/panel_blocks_integer.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr void set_products(Kernels& table) {
  table.reads_both = kKeepsBoth;
  table.fixed_bf16 = table.fixed_f16 = !std::is_void_v<DotS16>;
  const auto linear = [&table](PanelKind kind) -> LinearKernel& {
    return table.linear[static_cast<uint32_t>(kind)];
  };
  linear(PanelKind::F32) = linear_float<FromF32>;
  if constexpr (!std::is_void_v<DotS16>) {
    linear(PanelKind::F16) = linear_fixed_or_float<FromF16, DotS16>;
    linear(PanelKind::BF16) = linear_fixed_or_float<FromBf16, DotS16>;
  } else {
    linear(PanelKind::F16) = linear_float<FromF16>;
    linear(PanelKind::BF16) = linear_float<FromBf16>;
  }
  linear(PanelKind::E4m3Group32) = linear_float<FromE4m3<32>>;
  linear(PanelKind::E4m3Group128) = linear_float<FromE4m3<128>>;
  linear(PanelKind::Raw) = linear_raw;
  linear(PanelKind::U4Half) = linear_blocks<Q4HalfBlock>;
  linear(PanelKind::U4HalfMin) = linear_blocks<Q4HalfMinBlock>;
  linear(PanelKind::U5Half) = linear_blocks<Q5HalfBlock>;
  linear(PanelKind::U5HalfMin) = linear_blocks<Q5HalfMinBlock>;
  linear(PanelKind::S8Half) = linear_blocks<Q8HalfBlock>;
  linear(PanelKind::U4Super) = linear_blocks<Q4SuperBlock>;
  linear(PanelKind::U5Super) = linear_blocks<Q5SuperBlock>;
  linear(PanelKind::U6Super) = linear_blocks<Q6SuperBlock>;
  linear(PanelKind::U1Half) = linear_signs<Q1Block, SignTables>;
  linear(PanelKind::U2Half) = linear_blocks<Q2Block>;
  linear(PanelKind::U2Half256) = linear_blocks<Tq2Block>;
  linear(PanelKind::U2Super) = linear_blocks<Super2Block>;
  linear(PanelKind::U3Super) = linear_blocks<Q3SuperBlock>;
  linear(PanelKind::Table4Half) = linear_blocks<Iq4NlBlock>;
  linear(PanelKind::Table4Super) = linear_blocks<Iq4XsBlock>;
  linear(PanelKind::Fp4) = linear_blocks<Mxfp4Block>;
  linear(PanelKind::Fp4Quarter) = linear_blocks<Nvfp4Block>;
  linear(PanelKind::Iq1S) = linear_blocks<Iq1SBlock>;
  linear(PanelKind::Iq1M) = linear_blocks<Iq1MBlock>;
  linear(PanelKind::Iq2Xxs) = linear_blocks<Iq2Block<32>>;
  linear(PanelKind::Iq2) = linear_blocks<Iq2Block<16>>;
  linear(PanelKind::Iq3Xxs) = linear_blocks<Iq3XxsBlock>;
  linear(PanelKind::Iq3S) = linear_blocks<Iq3SBlock>;
  linear(PanelKind::U4Group32) = linear_blocks<GroupBlock<1>>;
  linear(PanelKind::U4Group64) = linear_blocks<GroupBlock<2>>;
  linear(PanelKind::U4Group128) = linear_blocks<GroupBlock<4>>;
  linear(PanelKind::S8Group) = linear_blocks<GroupBlock8>;
  linear(PanelKind::U4Pair32) = linear_blocks<PairBlock<1>>;
  linear(PanelKind::U4Pair64) = linear_blocks<PairBlock<2>>;
  linear(PanelKind::S8Pair) = linear_blocks<PairBlock8>;
  table.quantise = quantise;
}

}  // namespace tenon::cpu::TENON_CPU_ISA
