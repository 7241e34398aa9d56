// Sizes of the recurrent operations from their slots and parameters.
#pragma once

#include <cstdint>

#include "abi/operation_list.h"
#include "tenon/backend.h"

namespace tenon::backends {

/// True if an operation keeps values per sequence in a STATE group, located by params.state.
constexpr bool is_recurrent(uint32_t kind) { return cache_use(kind) == CacheUse::State; }

/// `heads` matrices [rows, columns]: the whole state of an ssm_scan, delta_rule, wkv7 or wkv6, as
/// in the operation list of tenon/backend.h.
struct StateShape {
  uint64_t heads = 0;
  uint64_t rows = 0;
  uint64_t columns = 0;
  [[nodiscard]] constexpr uint64_t head_values() const { return rows * columns; }
  [[nodiscard]] constexpr uint64_t values() const { return heads * head_values(); }
};

/// x [T, h p] -> h of [p, N]. heads > 0.
constexpr StateShape ssm_scan_shape(const tenon_ssm_scan_params& scan, const tenon_slot& x) {
  return {scan.heads, x.columns / scan.heads, scan.size};
}
/// q [T, hk dk], v [T, hv dv] -> hv of [dk, dv]. Both head counts > 0.
constexpr StateShape delta_rule_shape(const tenon_delta_rule_params& rule, const tenon_slot& q,
                                      const tenon_slot& v) {
  return {rule.value_heads, q.columns / rule.key_heads, v.columns / rule.value_heads};
}
/// r [T, h d] -> h of [d, d]. heads > 0.
constexpr StateShape wkv7_shape(const tenon_wkv7_params& wkv, const tenon_slot& r) {
  return {wkv.heads, r.columns / wkv.heads, r.columns / wkv.heads};
}
/// r [T, h d] -> h of [d, d]. heads > 0.
constexpr StateShape wkv6_shape(const tenon_wkv6_params& wkv, const tenon_slot& r) {
  return {wkv.heads, r.columns / wkv.heads, r.columns / wkv.heads};
}

/// Key head read by value head `head`.
constexpr uint64_t key_head(const tenon_delta_rule_params& rule, uint64_t head) {
  return rule.interleaved != 0 ? head % rule.key_heads : head / (rule.value_heads / rule.key_heads);
}

}  // namespace tenon::backends
