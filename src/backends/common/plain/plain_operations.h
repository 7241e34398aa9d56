// Every operation of the plugin ABI in the plain way, as a table.
#pragma once

#include "backends/common/plain/plain_attention.h"
#include "backends/common/plain/plain_attention_pools.h"
#include "backends/common/plain/plain_compress.h"
#include "backends/common/plain/plain_elementwise.h"
#include "backends/common/plain/plain_embed.h"
#include "backends/common/plain/plain_kv_write.h"
#include "backends/common/plain/plain_linear.h"
#include "backends/common/plain/plain_moe.h"
#include "backends/common/plain/plain_ngram_rows.h"
#include "backends/common/plain/plain_norm.h"
#include "backends/common/plain/plain_pool.h"
#include "backends/common/plain/plain_recurrent.h"
#include "backends/common/plain/plain_rope.h"
#include "backends/common/plain/plain_round.h"
#include "backends/common/plain/plain_segments.h"
#include "backends/common/plain/plain_select.h"
#include "backends/common/plain/plain_streams.h"
#include "backends/common/plain/plain_table.h"

namespace tenon::plain {

template <typename Math>
inline constexpr Operation<Math> kOperations[] = {
    {TENON_OP_EMBED, "embed", fits_embed, run_embed<Math>},
    {TENON_OP_RMS_NORM, "rms_norm", fits_norm, run_rms_norm<Math>},
    {TENON_OP_LAYER_NORM, "layer_norm", fits_norm, run_layer_norm<Math>},
    {TENON_OP_LINEAR, "linear", fits_linear, run_linear<Math>},
    {TENON_OP_ROPE_ANGLES, "rope_angles", fits_rope_angles, run_rope_angles<Math>},
    {TENON_OP_ROPE, "rope", fits_rope, run_rope<Math>},
    {TENON_OP_KV_WRITE, "kv_write", fits_kv_write, run_kv_write<Math>},
    {TENON_OP_ATTENTION, "attention", fits_attention, run_attention<Math>},
    {TENON_OP_GLU, "glu", fits_glu, run_glu<Math>},
    {TENON_OP_ADD, "add", fits_elementwise, run_add<Math>},
    {TENON_OP_SCALE, "scale", fits_elementwise, run_scale<Math>},
    {TENON_OP_GATHER_ROWS, "gather_rows", fits_gather_rows, run_gather_rows<Math>},
    {TENON_OP_SOFT_CAP, "soft_cap", fits_elementwise, run_soft_cap<Math>},
    {TENON_OP_MOE_ROUTE, "moe_route", fits_moe_route, run_moe_route<Math>},
    {TENON_OP_MOE_LINEAR, "moe_linear", fits_moe_linear, run_moe_linear<Math>},
    {TENON_OP_SIGMOID_GATE, "sigmoid_gate", fits_sigmoid_gate, run_sigmoid_gate<Math>},
    {TENON_OP_ACTIVATE, "activate", fits_activate, run_activate<Math>},
    {TENON_OP_MUL, "mul", fits_mul, run_mul<Math>},
    {TENON_OP_SUM_SEGMENTS, "sum_segments", fits_sum_segments, run_sum_segments<Math>},
    {TENON_OP_SLICE, "slice", fits_slice, run_slice<Math>},
    {TENON_OP_CONCAT, "concat", fits_concat, run_concat<Math>},
    {TENON_OP_LINEAR_HEADS, "linear_heads", fits_linear_heads, run_linear_heads<Math>},
    {TENON_OP_L2_NORM, "l2_norm", fits_norm, run_l2_norm<Math>},
    {TENON_OP_POSITION_SCALE, "position_scale", fits_position_scale, run_position_scale<Math>},
    {TENON_OP_POOL, "pool", fits_pool, run_pool<Math>},
    {TENON_OP_TOKEN_SHIFT, "token_shift", fits_token_shift, run_token_shift<Math>},
    {TENON_OP_CONV, "conv", fits_conv, run_conv<Math>},
    {TENON_OP_SSM_SCAN, "ssm_scan", fits_ssm_scan, run_ssm_scan<Math>},
    {TENON_OP_DELTA_RULE, "delta_rule", fits_delta_rule, run_delta_rule<Math>},
    {TENON_OP_WKV7, "wkv7", fits_wkv7, run_wkv7<Math>},
    {TENON_OP_MIX_STREAMS, "mix_streams", fits_mix_streams, run_mix_streams<Math>},
    {TENON_OP_SINKHORN, "sinkhorn", fits_sinkhorn, run_sinkhorn<Math>},
    {TENON_OP_SELECT, "select", fits_select, run_select<Math>},
    {TENON_OP_COMPRESS, "compress", fits_compress, run_compress<Math>},
    {TENON_OP_SELECT_BLOCKS, "select_blocks", fits_select_blocks, run_select_blocks<Math>},
    {TENON_OP_NGRAM_ROWS, "ngram_rows", fits_ngram_rows, run_ngram_rows<Math>},
    {TENON_OP_SOFTMAX, "softmax", fits_softmax, run_softmax<Math>},
    {TENON_OP_WKV6, "wkv6", fits_wkv6, run_wkv6<Math>},
    {TENON_OP_ATTENTION_POOLS, "attention_pools", fits_attention_pools, run_attention_pools<Math>},
    {TENON_OP_ROUND, "round", fits_round, run_round<Math>},
    {TENON_OP_SELECT_CANDIDATES, "select_candidates", fits_select_candidates,
     run_select_candidates<Math>},
    {TENON_OP_SELECT_WITHIN, "select_within", fits_select_within, run_select_within<Math>},
};

/// The table of a backend that does the operations in `own` itself, which outlive it.
template <typename Math>
constexpr OperationTable<Math> operations(std::span<const Operation<Math>> own = {}) noexcept {
  return {own, kOperations<Math>};
}

}  // namespace tenon::plain
