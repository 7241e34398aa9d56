#include "backends/gpu/stage_operations.h"

#include <algorithm>

#include "abi/failure.h"
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
#include "backends/gpu/abi_numbers.h"

namespace tenon::gpu {
namespace {

// Kernels use these names for the ABI's numbers.
static_assert(kOpRmsNorm == TENON_OP_RMS_NORM);
static_assert(kOpLayerNorm == TENON_OP_LAYER_NORM);
static_assert(kOpGlu == TENON_OP_GLU);
static_assert(kOpAdd == TENON_OP_ADD);
static_assert(kOpScale == TENON_OP_SCALE);
static_assert(kOpSoftCap == TENON_OP_SOFT_CAP);
static_assert(kOpSigmoidGate == TENON_OP_SIGMOID_GATE);
static_assert(kOpActivate == TENON_OP_ACTIVATE);
static_assert(kOpMul == TENON_OP_MUL);
static_assert(kOpPositionScale == TENON_OP_POSITION_SCALE);
static_assert(kOpWkv7 == TENON_OP_WKV7);
static_assert(kOpSelect == TENON_OP_SELECT);
static_assert(kOpSelectBlocks == TENON_OP_SELECT_BLOCKS);
static_assert(kOpSoftmax == TENON_OP_SOFTMAX);
static_assert(kOpSelectWithin == TENON_OP_SELECT_WITHIN);
static_assert(kActivationSilu == TENON_ACTIVATION_SILU);
static_assert(kActivationGeluErf == TENON_ACTIVATION_GELU_ERF);
static_assert(kActivationGeluTanh == TENON_ACTIVATION_GELU_TANH);
static_assert(kActivationRelu == TENON_ACTIVATION_RELU);
static_assert(kActivationReluSquared == TENON_ACTIVATION_RELU_SQUARED);
static_assert(kActivationXielu == TENON_ACTIVATION_XIELU);
static_assert(kActivationSigmoid == TENON_ACTIVATION_SIGMOID);
static_assert(kActivationTanh == TENON_ACTIVATION_TANH);
static_assert(kActivationSoftplus == TENON_ACTIVATION_SOFTPLUS);
static_assert(kActivationExp == TENON_ACTIVATION_EXP);
static_assert(kMaskCausal == TENON_MASK_CAUSAL);
static_assert(kMaskChunked == TENON_MASK_CHUNKED);
static_assert(kMaskSymmetric == TENON_MASK_SYMMETRIC);
static_assert(kBiasNone == TENON_BIAS_NONE);
static_assert(kBiasAlibi == TENON_BIAS_ALIBI);
static_assert(kPoolMean == TENON_POOL_MEAN);
static_assert(kPoolFirst == TENON_POOL_FIRST);
static_assert(kRoundFp8 == TENON_ROUND_FP8);
static_assert(kRoundFp4 == TENON_ROUND_FP4);
static_assert(kMoeSoftmaxAll == TENON_MOE_SOFTMAX_ALL);
static_assert(kMoeSoftmaxChosen == TENON_MOE_SOFTMAX_CHOSEN);
static_assert(kMoeSigmoid == TENON_MOE_SIGMOID);
static_assert(kMoeSparseMixer == TENON_MOE_SPARSE_MIXER);
static_assert(kMoeSqrtSoftplus == TENON_MOE_SQRT_SOFTPLUS);
static_assert(kCacheF32 == TENON_TYPE_F32);
static_assert(kCacheF16 == TENON_TYPE_F16);
static_assert(kCacheInt8 == TENON_CACHE_INT8);
static_assert(kCacheQ4 == TENON_CACHE_Q4);
static_assert(kDrawGreedy == TENON_DRAW_GREEDY);
static_assert(kDrawCandidates == TENON_DRAW_CANDIDATES);
static_assert(kDrawnNotFinite == TENON_DRAWN_NOT_FINITE);
static_assert(kDrawnNoneAllowed == TENON_DRAWN_NONE_ALLOWED);

/// Shared memory not counted below: sums of subgroups, digits, a chunk of positions.
constexpr uint64_t kOtherSharedBytes = 4096;

uint64_t none(const plain::OpShape&) noexcept { return 0; }
uint64_t row(const plain::OpShape& shape) noexcept {
  return std::max(shape.group->key_dim, shape.group->value_dim);
}
uint64_t three_rows(const plain::OpShape& shape) noexcept { return 3 * (row(shape) + 8); }
uint64_t row_and_keys(const plain::OpShape& shape) noexcept { return row(shape) + kKeptKeys; }
uint64_t five_rows(const plain::OpShape& shape) noexcept { return 5 * row(shape); }

constexpr Operation kOperations[] = {
    {TENON_OP_EMBED, "embed", plain::fits_embed, none, add_embed},
    {TENON_OP_RMS_NORM, "rms_norm", plain::fits_rms_norm, none, add_norm},
    {TENON_OP_LAYER_NORM, "layer_norm", plain::fits_layer_norm, none, add_norm},
    {TENON_OP_LINEAR, "linear", plain::fits_linear, none, add_linear},
    {TENON_OP_ROPE_ANGLES, "rope_angles", plain::fits_rope_angles, none, add_rope_angles},
    {TENON_OP_ROPE, "rope", plain::fits_rope, none, add_rope},
    {TENON_OP_KV_WRITE, "kv_write", plain::fits_kv_write, row, add_kv_write},
    {TENON_OP_ATTENTION, "attention", plain::fits_attention, three_rows, add_attention},
    {TENON_OP_GLU, "glu", plain::fits_glu, none, add_glu},
    {TENON_OP_ADD, "add", plain::fits_add, none, add_combination},
    {TENON_OP_SCALE, "scale", plain::fits_scale, none, add_scale},
    {TENON_OP_GATHER_ROWS, "gather_rows", plain::fits_gather_rows, none, add_gather_rows},
    {TENON_OP_SOFT_CAP, "soft_cap", plain::fits_soft_cap, none, add_soft_cap},
    {TENON_OP_MOE_ROUTE, "moe_route", plain::fits_moe_route, none, add_moe_route},
    {TENON_OP_MOE_LINEAR, "moe_linear", plain::fits_moe_linear, none, add_moe_linear},
    {TENON_OP_SIGMOID_GATE, "sigmoid_gate", plain::fits_sigmoid_gate, none, add_combination},
    {TENON_OP_ACTIVATE, "activate", plain::fits_activate, none, add_activate},
    {TENON_OP_MUL, "mul", plain::fits_mul, none, add_combination},
    {TENON_OP_SUM_SEGMENTS, "sum_segments", plain::fits_sum_segments, none, add_segments},
    {TENON_OP_SLICE, "slice", plain::fits_slice, none, add_slice},
    {TENON_OP_CONCAT, "concat", plain::fits_concat, none, add_concat},
    {TENON_OP_LINEAR_HEADS, "linear_heads", plain::fits_linear_heads, none, add_linear_heads},
    {TENON_OP_L2_NORM, "l2_norm", plain::fits_l2_norm, none, add_norm},
    {TENON_OP_POSITION_SCALE, "position_scale", plain::fits_position_scale, none,
     add_position_scale},
    {TENON_OP_POOL, "pool", plain::fits_pool, none, add_pool},
    {TENON_OP_TOKEN_SHIFT, "token_shift", plain::fits_token_shift, none, add_token_shift},
    {TENON_OP_CONV, "conv", plain::fits_conv, none, add_conv},
    {TENON_OP_SSM_SCAN, "ssm_scan", plain::fits_ssm_scan, none, add_ssm_scan},
    {TENON_OP_DELTA_RULE, "delta_rule", plain::fits_delta_rule, none, add_delta_rule},
    {TENON_OP_WKV7, "wkv7", plain::fits_wkv7, none, add_wkv},
    {TENON_OP_MIX_STREAMS, "mix_streams", plain::fits_mix_streams, none, add_mix_streams},
    {TENON_OP_SINKHORN, "sinkhorn", plain::fits_sinkhorn, none, add_sinkhorn},
    {TENON_OP_SELECT, "select", plain::fits_select, row_and_keys, add_select},
    {TENON_OP_SELECT_BLOCKS, "select_blocks", plain::fits_select_blocks, row_and_keys,
     add_select_blocks},
    {TENON_OP_COMPRESS, "compress", plain::fits_compress, five_rows, add_compress},
    {TENON_OP_NGRAM_ROWS, "ngram_rows", plain::fits_ngram_rows, none, add_ngram_rows},
    {TENON_OP_SOFTMAX, "softmax", plain::fits_softmax, none, add_segments},
    {TENON_OP_WKV6, "wkv6", plain::fits_wkv6, none, add_wkv},
    {TENON_OP_ATTENTION_POOLS, "attention_pools", plain::fits_attention_pools, three_rows,
     add_attention_pools},
    {TENON_OP_ROUND, "round", plain::fits_round, none, add_round},
    {TENON_OP_SELECT_CANDIDATES, "select_candidates", plain::fits_select_candidates, row_and_keys,
     add_select_within},
    {TENON_OP_SELECT_WITHIN, "select_within", plain::fits_select_within, row_and_keys,
     add_select_within},
};

/// Kernels decode the formats of files.
bool reads_formats(const tenon_program& program, const tenon_op& op) noexcept {
  for (uint32_t i = 0; i < op.num_inputs; ++i) {
    if (op.inputs[i] == TENON_NO_SLOT) continue;
    const tenon_slot& slot = slots_of(program)[op.inputs[i]];
    if (slot.kind == TENON_SLOT_WEIGHT && is_memory_format(Format{slot.type})) return false;
  }
  return true;
}

}  // namespace

const Operation* find_operation(uint32_t kind) noexcept {
  const auto* found = std::ranges::find(kOperations, kind, &Operation::kind);
  return found == std::end(kOperations) ? nullptr : found;
}

bool fits_device(const tenon_program& program, uint32_t op, uint64_t shared_bytes) noexcept {
  const auto shape = plain::find_shape(program, op);
  if (!shape || !reads_formats(program, *shape->op)) return false;
  const Operation* operation = find_operation(shape->op->kind);
  return operation != nullptr && operation->fits(*shape) &&
         operation->shared_values(*shape) * sizeof(float) + kOtherSharedBytes <= shared_bytes;
}

void check_program(const backends::ProgramCopy& program, uint64_t shared_bytes) {
  for (uint32_t i = 0; i < program.ops().size(); ++i) {
    if (fits_device(program.view(), i, shared_bytes)) continue;
    const Operation* operation = find_operation(program.ops()[i].kind);
    backends::refuse(TENON_BACKEND_UNSUPPORTED, "operation {} ({}) is not supported as given", i,
                     operation == nullptr ? "unknown" : operation->name);
  }
  for (const uint32_t result : program.results()) {
    const bool known = result < program.slots().size();
    if (known && program.slots()[result].kind == TENON_SLOT_ACTIVATION) continue;
    backends::refuse(TENON_BACKEND_ARGUMENT, "program: a result is no activation");
  }
  constexpr uint32_t kMostRows = 65535;  // most workgroups per dimension
  if (program.view().max_tokens > kMostRows || program.view().max_outputs > kMostRows) {
    backends::refuse(TENON_BACKEND_LIMIT, "steps of {} tokens and {} outputs, at most {}",
                     program.view().max_tokens, program.view().max_outputs, kMostRows);
  }
}

}  // namespace tenon::gpu
