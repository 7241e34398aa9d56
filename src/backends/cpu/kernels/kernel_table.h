// The table of kernels of the instruction set TENON_CPU_ISA. Included once by each
// kernels_<isa>.cpp.
#pragma once

#include "backends/cpu/kernels/kernel_attention.h"
#include "backends/cpu/kernels/kernel_cache.h"
#include "backends/cpu/kernels/kernel_products.h"
#include "backends/cpu/kernels/kernel_rows.h"
#include "backends/cpu/kernels/kernel_state.h"
#include "backends/cpu/kernels/kernels.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr Kernels kernel_table(const char* name) {
  Kernels table{};
  table.name = name;
  set_products(table);
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
  const auto score_index = [&table](CacheType type) -> auto& {
    return table.index_scores[static_cast<uint32_t>(type)];
  };
  score_index(CacheType::F32) = index_scores<CacheF32>;
  score_index(CacheType::F16) = index_scores<CacheF16>;
  score_index(CacheType::Int8) = index_scores<CacheInt8>;
  score_index(CacheType::Q4) = index_scores<CacheQ4>;
  const auto multiply_index = [&table](CacheType type) -> auto& {
    return table.index_products[static_cast<uint32_t>(type)];
  };
  multiply_index(CacheType::F32) = index_products<CacheF32>;
  multiply_index(CacheType::F16) = index_products<CacheF16>;
  multiply_index(CacheType::Int8) = index_products<CacheInt8>;
  multiply_index(CacheType::Q4) = index_products<CacheQ4>;
  table.conv = conv;
  table.ssm_scan = ssm_scan;
  table.delta_rule = delta_rule;
  table.wkv7 = wkv7;
  table.wkv6 = wkv6;
  return table;
}

}  // namespace tenon::cpu::TENON_CPU_ISA
