// The layout of recurrent states in this backend. No arithmetic.
//
//   block of a group   [layers] states, each from a cache line on
//   state              parts of operations, where their params say
//   part of a scan     [heads][tiles], a tile [rows][lanes of the tile]
//   part of a conv     [taps - 1][columns]; of a token_shift [columns]
//
// The recurrences sum along one index of a head's matrix, the rows, and treat the other, the lanes,
// independently: one vector lane each. A kernel call runs one tile through all tokens of a
// sequence: kStateLanes lanes, fewer in the last tile. Rows are keys (delta_rule, wkv7, wkv6) or N
// (ssm_scan), lanes are values or p; with p = 1 (Mamba 1) the heads of a group are the lanes of one
// matrix.
#pragma once

#include <algorithm>
#include <cstdint>

#include "abi/recurrence.h"
#include "backends/cpu/kernels/kernels.h"
#include "tenon/backend.h"

namespace tenon::cpu {

struct StateTile {
  uint64_t head;
  uint64_t first_lane;
  uint32_t width;   ///< lanes
  uint64_t offset;  ///< values from the start of the operation's part
};

struct StateTiles {
  uint64_t heads, rows, lanes;

  [[nodiscard]] constexpr uint64_t per_head() const {
    return (lanes + kStateLanes - 1) / kStateLanes;
  }
  [[nodiscard]] constexpr uint64_t count() const { return heads * per_head(); }
  [[nodiscard]] constexpr StateTile tile(uint64_t index) const {
    const uint64_t head = index / per_head();
    const uint64_t first = index % per_head() * kStateLanes;
    const auto width = static_cast<uint32_t>(std::min<uint64_t>(kStateLanes, lanes - first));
    return {head, first, width, (head * lanes + first) * rows};
  }
};

/// True if heads are lanes.
constexpr bool has_channels(const tenon_ssm_scan_params& scan, const tenon_slot& x) {
  return x.columns == scan.heads;
}
constexpr StateTiles ssm_scan_tiles(const tenon_ssm_scan_params& scan, const tenon_slot& x) {
  if (has_channels(scan, x)) return {scan.groups, scan.size, scan.heads / scan.groups};
  const backends::StateShape shape = backends::ssm_scan_shape(scan, x);
  return {shape.heads, shape.columns, shape.rows};
}
constexpr StateTiles delta_rule_tiles(const tenon_delta_rule_params& rule, const tenon_slot& q,
                                      const tenon_slot& v) {
  const backends::StateShape shape = backends::delta_rule_shape(rule, q, v);
  return {shape.heads, shape.rows, shape.columns};
}
constexpr StateTiles wkv7_tiles(const tenon_wkv7_params& wkv, const tenon_slot& r) {
  const backends::StateShape shape = backends::wkv7_shape(wkv, r);
  return {shape.heads, shape.columns, shape.rows};
}
constexpr StateTiles wkv6_tiles(const tenon_wkv6_params& wkv, const tenon_slot& r) {
  const backends::StateShape shape = backends::wkv6_shape(wkv, r);
  return {shape.heads, shape.rows, shape.columns};
}

/// f32 values between layers of a state: whole cache lines.
constexpr uint64_t state_layer_values(const tenon_cache_group& group) {
  return CacheBlock::round_up(group.state_values, 16);
}

}  // namespace tenon::cpu
