// Attention, what it reads, and the recurrences.
#include <cmath>

#include "program/op_rules.h"

namespace tenon::op_rules {

uint64_t kv_write_columns(const OpView& view) {
  const tenon_kv_params& kv = view.op.params.kv;
  const tenon_cache_group& group = group_of(view, kv.group, kv.layer);
  require(columns_of(view, 0) == uint64_t{group.kv_heads} * group.key_dim, view,
          fmt::format("the key has {} columns, the cache {} heads of {}", columns_of(view, 0),
                      group.kv_heads, group.key_dim));
  if (group.kind == TENON_CACHE_LATENT) {
    require(view.inputs[1] == nullptr, view, "values of a latent cache are a part of its keys");
    return 0;
  }
  require(view.inputs[1] != nullptr, view, "the value is missing");
  require(columns_of(view, 1) == uint64_t{group.kv_heads} * group.value_dim, view,
          fmt::format("the value has {} columns, the cache {} heads of {}", columns_of(view, 1),
                      group.kv_heads, group.value_dim));
  return 0;
}

/// Nothing looks back further than a cache group keeps.
static void require_within(const OpView& view, uint32_t window, const tenon_cache_group& group) {
  require(group.window == 0 || (window > 0 && window <= group.window), view,
          fmt::format("looks back {} positions, its cache group keeps {}", window, group.window));
}

/// A mask reads the groups that hold what it sees. Of a group with a window positions before the window of
/// the step's first token may be missing: CAUSAL and CHUNKED look back less than it keeps, and
/// SYMMETRIC, which has the whole sequence in the step, has no use for one.
static void check_mask(const OpView& view, const tenon_cache_group& group) {
  const tenon_attention_params& attention = view.op.params.attention;
  require(attention.mask <= TENON_MASK_CROSS, view, fmt::format("unknown mask {}", attention.mask));
  require((attention.mask == TENON_MASK_CROSS) == (group.kind == TENON_CACHE_CROSS), view,
          "a cross mask goes with a cache group of another text, and no other mask does");
  require(attention.mask != TENON_MASK_CROSS || attention.window == 0, view,
          "a cross mask has no window");
  require(attention.mask != TENON_MASK_CHUNKED || attention.window > 0, view,
          "chunks of no position");
  require(attention.mask != TENON_MASK_SYMMETRIC || group.window == 0, view,
          "a symmetric mask sees the whole sequence, its cache group keeps a window");
  require_within(view, attention.window, group);
}

/// T5's buckets: one of a side at least holds a single distance, and one more.
static void check_relative_bias(const OpView& view) {
  const tenon_attention_params& attention = view.op.params.attention;
  const tenon_slot& table = *view.inputs[2];
  require(table.kind == TENON_SLOT_WEIGHT && table.type == TENON_TYPE_F32 &&
              table.columns == attention.heads && table.rows <= kMaxBuckets,
          view,
          fmt::format("\"{}\" is [{}, {}], expected at most {} buckets of {} f32", table.name,
                      table.rows, table.columns, kMaxBuckets, attention.heads));
  require(attention.two_sided <= 1, view, "two_sided is neither 0 nor 1");
  const uint64_t sides = attention.two_sided + 1;
  require(table.rows % sides == 0 && table.rows / sides >= 2, view,
          fmt::format("{} buckets are too few or do not share {} sides evenly", table.rows, sides));
  require(
      attention.max_distance > table.rows / sides / 2 && attention.max_distance <= kMaxBiasDistance,
      view,
      fmt::format("max_distance {} is outside {}..{}", attention.max_distance,
                  table.rows / sides / 2 + 1, kMaxBiasDistance));
}

static void check_bias(const OpView& view) {
  const tenon_attention_params& attention = view.op.params.attention;
  const tenon_slot* bias = view.inputs[2];
  require(attention.bias <= TENON_BIAS_RELATIVE, view,
          fmt::format("unknown bias {}", attention.bias));
  require((attention.bias != TENON_BIAS_NONE) == (bias != nullptr), view,
          "a bias has an input, and nothing else has");
  if (bias == nullptr) return;
  require(attention.mask != TENON_MASK_CROSS, view,
          "a bias goes by distances, and there are none to another text");
  if (attention.bias == TENON_BIAS_RELATIVE) return check_relative_bias(view);
  require(bias->kind == TENON_SLOT_CONSTANT && bias->type == TENON_TYPE_F64, view,
          "the slopes are no constant of f64");
  require_vector(view, 2, attention.heads);
}

/// Positions are selected out of all, and looked at as if there were no others: no distances.
static void check_selection(const OpView& view, const tenon_cache_group& group) {
  if (view.inputs[3] == nullptr) return;
  const tenon_attention_params& attention = view.op.params.attention;
  require(group.kind == TENON_CACHE_LATENT || group.kind == TENON_CACHE_FULL, view,
          "a selection goes with a cache of all positions");
  require(
      attention.selections <= 1 || attention.selections == group.kv_heads, view,
      fmt::format("a selection of {} parts for {} KV heads", attention.selections, group.kv_heads));
  require(attention.mask == TENON_MASK_CAUSAL && attention.window == 0 &&
              attention.bias == TENON_BIAS_NONE,
          view, "a selection goes with a causal mask, without window and bias");
}

uint64_t attention_columns(const OpView& view) {
  const tenon_attention_params& attention = view.op.params.attention;
  const tenon_cache_group& group = group_of(view, attention.group, attention.layer);
  require(group.stride <= 1, view, "its cache group has rows for some positions only");
  require(attention.heads > 0 && attention.heads % group.kv_heads == 0, view,
          fmt::format("{} heads do not share {} KV heads evenly", attention.heads, group.kv_heads));
  require(columns_of(view, 0) == uint64_t{attention.heads} * group.key_dim, view,
          fmt::format("the query has {} columns, expected {} heads of {}", columns_of(view, 0),
                      attention.heads, group.key_dim));
  require(std::isfinite(attention.scale), view, "scale is no number");
  require(std::isfinite(attention.soft_cap) && attention.soft_cap >= 0, view,
          "soft_cap is negative or no number");
  check_mask(view, group);
  check_bias(view);
  check_selection(view, group);
  require_vector(view, 1, attention.heads);
  return uint64_t{attention.heads} * group.value_dim;
}

uint64_t attention_pools_columns(const OpView& view) {
  const tenon_attention_pools_params& attention = view.op.params.attention_pools;
  const tenon_cache_group& group = group_of(view, attention.group, attention.layer);
  const tenon_cache_group& pools = group_of(view, attention.pool_group, attention.pool_layer);
  require(group.kind == TENON_CACHE_LATENT && pools.kind == TENON_CACHE_LATENT &&
              group.key_dim == pools.key_dim && group.value_dim == pools.value_dim &&
              group.type == pools.type,
          view, "its cache groups are not of latent rows of one kind");
  require(attention.group != attention.pool_group && group.stride <= 1 && pools.window == 0, view,
          "its cache groups are not one of positions and one of pools");
  require_within(view, attention.window, group);
  require(attention.heads > 0, view, "no head");
  require(columns_of(view, 0) == uint64_t{attention.heads} * group.key_dim, view,
          fmt::format("the query has {} columns, expected {} heads of {}", columns_of(view, 0),
                      attention.heads, group.key_dim));
  require(std::isfinite(attention.scale), view, "scale is no number");
  require_vector(view, 1, attention.heads);
  return uint64_t{attention.heads} * group.value_dim;
}

/// An index reads the rows of all positions.
static void require_all_positions(const OpView& view, const tenon_cache_group& group) {
  require(group.window == 0, view, "its cache group keeps a window, not all positions");
}

uint64_t select_columns(const OpView& view) {
  const tenon_select_params& select = view.op.params.select;
  const tenon_cache_group& group = group_of(view, select.group, select.layer);
  require(group.kind == TENON_CACHE_LATENT, view,
          "positions are selected by rows of a latent cache");
  require_all_positions(view, group);
  require(select.heads > 0, view, "no head");
  require(columns_of(view, 0) == uint64_t{select.heads} * group.key_dim, view,
          fmt::format("the query has {} columns, expected {} heads of {}", columns_of(view, 0),
                      select.heads, group.key_dim));
  require_columns(view, 1, select.heads);
  require(select.count > 0 && select.count <= kMaxSelected, view,
          fmt::format("{} positions are outside 1..{}", select.count, kMaxSelected));
  return select.count;
}

/// The parameters begin as those of select do.
static uint64_t block_rows_columns(const OpView& view) {
  require(view.op.params.select_within.block > 0, view, "blocks of no row");
  return select_columns(view);
}

uint64_t select_candidates_columns(const OpView& view) {
  const tenon_select_within_params& select = view.op.params.select_within;
  require(uint64_t{select.count} * select.block <= kMaxSelectedInBlocks, view,
          fmt::format("{} blocks of {} rows are more than {} rows in all", select.count,
                      select.block, kMaxSelectedInBlocks));
  return block_rows_columns(view);
}

uint64_t select_within_columns(const OpView& view) { return block_rows_columns(view); }

uint64_t select_blocks_columns(const OpView& view) {
  const tenon_select_blocks_params& select = view.op.params.select_blocks;
  const tenon_cache_group& group = group_of(view, select.group, select.layer);
  require(group.kind == TENON_CACHE_LATENT, view,
          "blocks of positions are selected by rows of a latent cache");
  require_all_positions(view, group);
  require(group.stride <= 1, view, "its cache group has rows for some positions only");
  require(select.heads > 0, view, "no head");
  require(columns_of(view, 0) == uint64_t{select.heads} * group.key_dim, view,
          fmt::format("the query has {} columns, expected {} heads of {}", columns_of(view, 0),
                      select.heads, group.key_dim));
  const uint64_t most = kMaxSelectedInBlocks / select.heads;
  require(select.count > 0 && select.block > 0 && uint64_t{select.count} * select.block <= most,
          view,
          fmt::format("{} blocks of {} positions for {} heads are outside 1..{} positions in all",
                      select.count, select.block, select.heads, kMaxSelectedInBlocks));
  require(select.local <= select.count, view,
          fmt::format("{} blocks are always chosen, more than the {} in all", select.local,
                      select.count));
  return uint64_t{select.heads} * select.count;
}

uint64_t compress_columns(const OpView& view) {
  const tenon_compress_params& compress = view.op.params.compress;
  const tenon_cache_group& group = group_of(view, compress.group, compress.layer);
  require(
      group.kind == TENON_CACHE_WINDOW && group.kv_heads == 1 && group.key_dim == group.value_dim,
      view, "its cache group has no values and gates of equal size for a window of positions");
  require(compress.overlap <= 1, view, "overlap is neither 0 nor 1");
  const uint32_t parts = compress.overlap + 1;
  require(compress.stride > 0 && uint64_t{compress.stride} * parts <= group.window, view,
          fmt::format("a pool of {} positions in a window of {}{}", compress.stride, group.window,
                      compress.overlap == 1 ? ", and the pool before it" : ""));
  require(compress.overlap == 0 || group.stride <= 1, view,
          "pools that overlap need more than a cache group of pools keeps");
  require(group.key_dim % parts == 0, view,
          fmt::format("{} columns are not those of two pools", group.key_dim));
  require(group.stride <= 1 || group.stride == compress.stride, view,
          fmt::format("a pool of {} positions in a cache group of pools of {}", compress.stride,
                      group.stride));
  const tenon_slot& bias = *view.inputs[0];
  require(bias.rows == compress.stride && bias.columns == group.key_dim, view,
          fmt::format("\"{}\" is [{}, {}], expected [{}, {}]", bias.name, bias.rows, bias.columns,
                      compress.stride, group.key_dim));
  return group.key_dim / parts;
}

uint64_t token_shift_state(const OpView& view) { return columns_of(view, 0); }

uint64_t token_shift_columns(const OpView& view) {
  require_state(view, token_shift_state(view));
  return columns_of(view, 0);
}

uint64_t conv_state(const OpView& view) {
  return (view.inputs[1]->columns - 1) * columns_of(view, 0);
}

uint64_t conv_columns(const OpView& view) {
  const tenon_slot& weight = *view.inputs[1];
  const uint64_t columns = columns_of(view, 0);
  require(weight.rows == columns, view,
          fmt::format("\"{}\" has filters for {} columns, its input has {}", weight.name,
                      weight.rows, columns));
  require(weight.columns <= UINT32_MAX, view, "a filter is too long");
  require_vector(view, 2, columns);
  require_state(view, conv_state(view));
  return columns;
}

uint64_t ssm_scan_state(const OpView& view) {
  return columns_of(view, 0) * view.op.params.ssm_scan.size;
}

uint64_t ssm_scan_columns(const OpView& view) {
  const tenon_ssm_scan_params& scan = view.op.params.ssm_scan;
  const uint64_t columns = columns_of(view, 0);
  head_columns(view, 0, scan.heads);
  require(scan.groups > 0 && scan.heads % scan.groups == 0, view,
          fmt::format("{} heads do not share {} groups evenly", scan.heads, scan.groups));
  require(scan.size > 0, view, "a state of no columns");
  require_columns(view, 1, scan.heads);
  const tenon_slot& a = *view.inputs[2];
  require(a.rows == scan.heads && (a.columns == 1 || a.columns == scan.size), view,
          fmt::format("\"{}\" is [{}, {}], expected [{}, 1 or {}]", a.name, a.rows, a.columns,
                      scan.heads, scan.size));
  for (const uint32_t input : {3u, 4u}) {
    require_columns(view, input, uint64_t{scan.groups} * scan.size);
  }
  require_vector(view, 5, scan.heads);
  require_state(view, ssm_scan_state(view));
  return columns;
}

uint64_t delta_rule_state(const OpView& view) {
  return columns_of(view, 0) / view.op.params.delta_rule.key_heads * columns_of(view, 2);
}

uint64_t delta_rule_columns(const OpView& view) {
  const tenon_delta_rule_params& rule = view.op.params.delta_rule;
  const uint64_t key_dim = head_columns(view, 0, rule.key_heads);
  head_columns(view, 2, rule.value_heads);
  require(rule.value_heads % rule.key_heads == 0, view,
          fmt::format("{} value heads do not share {} key heads evenly", rule.value_heads,
                      rule.key_heads));
  require_columns(view, 1, columns_of(view, 0));
  const uint64_t decays = columns_of(view, 3);
  require(decays == rule.value_heads || decays == rule.value_heads * key_dim, view,
          fmt::format("{} decays for {} heads of {} keys", decays, rule.value_heads, key_dim));
  require_columns(view, 4, rule.value_heads);
  require(rule.interleaved <= 1, view, "interleaved is neither 0 nor 1");
  require(std::isfinite(rule.scale), view, "scale is no number");
  require_state(view, delta_rule_state(view));
  return columns_of(view, 2);
}

uint64_t wkv7_state(const OpView& view) {
  const uint64_t columns = columns_of(view, 0);
  return columns / view.op.params.wkv7.heads * columns;
}

uint64_t wkv7_columns(const OpView& view) {
  head_columns(view, 0, view.op.params.wkv7.heads);
  for (const uint32_t input : {1u, 2u, 3u, 4u, 5u}) {
    require_columns(view, input, columns_of(view, 0));
  }
  require_state(view, wkv7_state(view));
  return columns_of(view, 0);
}

uint64_t wkv6_state(const OpView& view) {
  const uint64_t columns = columns_of(view, 0);
  return columns / view.op.params.wkv6.heads * columns;
}

uint64_t wkv6_columns(const OpView& view) {
  head_columns(view, 0, view.op.params.wkv6.heads);
  for (const uint32_t input : {1u, 2u, 3u}) require_columns(view, input, columns_of(view, 0));
  require_vector(view, 4, columns_of(view, 0));
  require_state(view, wkv6_state(view));
  return columns_of(view, 0);
}

}  // namespace tenon::op_rules
