// The table of kernels of the instruction set TENON_CPU_ISA. Included once by each
// kernels_<isa>.cpp.
#pragma once

#include "backends/cpu/kernel_attention.h"
#include "backends/cpu/kernel_float.h"
#include "backends/cpu/kernel_integer.h"
#include "backends/cpu/kernel_rows.h"
#include "backends/cpu/kernels.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr Kernels kernel_table(const char* name) {
  Kernels table{};
  table.name = name;
  const auto linear = [&table](PanelKind kind) -> LinearKernel& {
    return table.linear[static_cast<uint32_t>(kind)];
  };
  linear(PanelKind::F32) = linear_float<FromF32>;
  linear(PanelKind::F16) = linear_float<FromF16>;
  linear(PanelKind::BF16) = linear_float<FromBf16>;
  linear(PanelKind::Raw) = linear_raw;
  linear(PanelKind::U4Half) = linear_integer<U4, HalfScales<8>>;
  linear(PanelKind::U4HalfMin) = linear_integer<U4, HalfMinScales>;
  linear(PanelKind::U5Half) = linear_integer<U5, HalfScales<16>>;
  linear(PanelKind::U5HalfMin) = linear_integer<U5, HalfMinScales>;
  linear(PanelKind::S8Half) = linear_integer<S8, HalfScales<0>>;
  linear(PanelKind::U4Super) = linear_integer<U4, SuperScales>;
  linear(PanelKind::U5Super) = linear_integer<U5, SuperScales>;
  linear(PanelKind::U6Super) = linear_integer<U6, Super6Scales>;
  table.quantise = quantise;
  table.rms_norm = rms_norm;
  table.layer_norm = layer_norm;
  table.add = add_rows;
  table.scale = scale_row;
  table.soft_cap = soft_cap_row;
  table.glu = glu;
  table.rope = rope;
  table.kv_write = kv_write;
  table.attention_f32 = attention<float>;
  table.attention_f16 = attention<uint16_t>;
  return table;
}

}  // namespace tenon::cpu::TENON_CPU_ISA
