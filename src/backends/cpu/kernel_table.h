// The table of kernels of the instruction set TENON_CPU_ISA. Included once by each
// kernels_<isa>.cpp.
#pragma once

#include "backends/cpu/kernel_attention.h"
#include "backends/cpu/kernel_cache.h"
#include "backends/cpu/kernel_fixed.h"
#include "backends/cpu/kernel_float.h"
#include "backends/cpu/kernel_quantise.h"
#include "backends/cpu/kernel_rows.h"
#include "backends/cpu/kernel_signs.h"
#include "backends/cpu/kernel_state.h"
#include "backends/cpu/kernel_tiled.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/unit_codebooks.h"
#include "backends/cpu/unit_integers.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr Kernels kernel_table(const char* name) {
  Kernels table{};
  table.name = name;
  table.sweeps_both = kSweepsSigned && kSweepsBiased;
  table.fixed_point = !std::is_void_v<DotS16>;
  const auto linear = [&table](PanelKind kind) -> LinearKernel& {
    return table.linear[static_cast<uint32_t>(kind)];
  };
  linear(PanelKind::F32) = linear_float<FromF32>;
  linear(PanelKind::F16) = linear_float<FromF16>;
  if constexpr (!std::is_void_v<DotS16>) {
    linear(PanelKind::BF16) = linear_bf16<DotS16>;
  } else {
    linear(PanelKind::BF16) = linear_float<FromBf16>;
  }
  linear(PanelKind::Raw) = linear_raw;
  linear(PanelKind::U4Half) = linear_units<Q4HalfUnit>;
  linear(PanelKind::U4HalfMin) = linear_units<Q4HalfMinUnit>;
  linear(PanelKind::U5Half) = linear_units<Q5HalfUnit>;
  linear(PanelKind::U5HalfMin) = linear_units<Q5HalfMinUnit>;
  linear(PanelKind::S8Half) = linear_units<Q8HalfUnit>;
  linear(PanelKind::U4Super) = linear_units<Q4SuperUnit>;
  linear(PanelKind::U5Super) = linear_units<Q5SuperUnit>;
  linear(PanelKind::U6Super) = linear_units<Q6SuperUnit>;
  linear(PanelKind::U1Half) = linear_signs<Q1Unit, SignTables>;
  linear(PanelKind::U2Half) = linear_units<Q2Unit>;
  linear(PanelKind::U2Half256) = linear_units<Tq2Unit>;
  linear(PanelKind::U2Super) = linear_units<Super2Unit>;
  linear(PanelKind::U3Super) = linear_units<Q3SuperUnit>;
  linear(PanelKind::Table4Half) = linear_units<Iq4NlUnit>;
  linear(PanelKind::Table4Super) = linear_units<Iq4XsUnit>;
  linear(PanelKind::Fp4) = linear_units<Mxfp4Unit>;
  linear(PanelKind::Fp4Quarter) = linear_units<Nvfp4Unit>;
  linear(PanelKind::Iq1S) = linear_units<Iq1SUnit>;
  linear(PanelKind::Iq1M) = linear_units<Iq1MUnit>;
  linear(PanelKind::Iq2Xxs) = linear_units<Iq2Unit<32>>;
  linear(PanelKind::Iq2) = linear_units<Iq2Unit<16>>;
  linear(PanelKind::Iq3Xxs) = linear_units<Iq3XxsUnit>;
  linear(PanelKind::Iq3S) = linear_units<Iq3SUnit>;
  table.quantise = quantise;
  table.rms_norm = rms_norm;
  table.layer_norm = layer_norm;
  table.l2_norm = l2_norm;
  table.sum = sum_row;
  table.add = add_rows;
  table.mul = mul_rows;
  table.gate = gate_rows;
  table.scale = scale_row;
  table.soft_cap = soft_cap_row;
  table.activate = activate;
  table.glu = glu;
  table.rope = rope;
  table.kv_write = kv_write;
  const auto attend = [&table](CacheType type) -> auto& {
    return table.attention[static_cast<uint32_t>(type)];
  };
  attend(CacheType::F32) = attention<CacheF32>;
  attend(CacheType::F16) = attention<CacheF16>;
  attend(CacheType::Int8) = attention<CacheInt8>;
  attend(CacheType::Q4) = attention<CacheQ4>;
  table.attention_merge = attention_merge;
  table.conv = conv;
  table.ssm_scan = ssm_scan;
  table.delta_rule = delta_rule;
  table.wkv7 = wkv7;
  return table;
}

}  // namespace tenon::cpu::TENON_CPU_ISA
