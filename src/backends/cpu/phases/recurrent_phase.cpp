// The recurrent phases of a PhaseRunner: from work items to calls of the state kernels.
#include <algorithm>
#include <cstring>

#include "backends/common/strided.h"
#include "backends/cpu/phases/phase_runner.h"

namespace tenon::cpu {
namespace {

/// Columns of a work item of conv and token_shift: some microseconds of work for one token, so that
/// a narrow one is no reason for a barrier.
constexpr uint64_t kItemColumns = 2048;

uint64_t item_width(uint64_t columns, uint64_t chunk) {
  return std::min(kItemColumns, columns - chunk * kItemColumns);
}

}  // namespace

/// Of the scans.
StateTiles PhaseRunner::tiles_of(const tenon_op& op) const noexcept {
  const auto slot = [&](uint32_t i) -> const tenon_slot& {
    return x_.plan_.slots[op.inputs[i]].slot;
  };
  switch (op.kind) {
    case TENON_OP_SSM_SCAN:
      return ssm_scan_tiles(op.params.ssm_scan, slot(0));
    case TENON_OP_DELTA_RULE:
      return delta_rule_tiles(op.params.delta_rule, slot(0), slot(2));
    case TENON_OP_WKV6:
      return wkv6_tiles(op.params.wkv6, slot(0));
    default:
      return wkv7_tiles(op.params.wkv7, slot(0));
  }
}

/// Work items of a sequence.
uint64_t PhaseRunner::recurrent_chunks(const tenon_op& op) const noexcept {
  if (op.kind == TENON_OP_TOKEN_SHIFT || op.kind == TENON_OP_CONV) {
    return (columns(op.inputs[0]) + kItemColumns - 1) / kItemColumns;
  }
  return tiles_of(op).count();
}

void PhaseRunner::run_recurrent(const Phase& phase, uint32_t item, uint32_t thread) noexcept {
  const tenon_op& op = phase.recurrent;
  const uint64_t chunks = recurrent_chunks(op);
  const auto number = static_cast<uint32_t>(item / chunks);
  const tenon_step_sequence& sequence = sequences_of(*x_.state_.step)[number];
  if (sequence.num_tokens == 0) return;
  const RecurrentItem own{op, sequence, number, item % chunks};
  switch (op.kind) {
    case TENON_OP_TOKEN_SHIFT:
      return run_token_shift(own);
    case TENON_OP_CONV:
      return run_conv(own);
    case TENON_OP_SSM_SCAN:
      return run_ssm_scan(own);
    case TENON_OP_DELTA_RULE:
      return run_delta_rule(own, thread);
    case TENON_OP_WKV6:
      return run_wkv6(own);
    default:
      return run_wkv7(own);
  }
}

PhaseRunner::StatePlaces PhaseRunner::state_places(const RecurrentItem& item) const noexcept {
  const tenon_state_params& params = item.op.params.state;
  const tenon_cache_group& group = x_.program_.groups()[params.group];
  const uint64_t offset = params.layer * state_layer_values(group) + params.offset;
  const uint8_t* const* blocks = x_.state_.blocks[params.group].data() +
                                 x_.state_.first_block[params.group][item.sequence_number];
  auto* const write = reinterpret_cast<float*>(const_cast<uint8_t*>(blocks[1])) + offset;
  if (blocks[0] == nullptr) return {nullptr, write};
  return {reinterpret_cast<const float*>(blocks[0]) + offset, write};
}

/// Values [first, first + count) of the operation's part of the state, and as many of each of the
/// `rows` rows `stride` values apart, in the block that the sequence writes: what they were before
/// the step, or zeros.
float* PhaseRunner::begin_state(const RecurrentItem& item, uint64_t first, uint64_t count,
                                uint64_t rows, uint64_t stride) noexcept {
  const auto [read, write] = state_places(item);
  for (uint64_t r = 0; r < rows; ++r) {
    const uint64_t at = first + r * stride;
    if (read == nullptr) {
      std::memset(write + at, 0, count * sizeof(float));
    } else if (read != write) {
      std::memcpy(write + at, read + at, count * sizeof(float));
    }
  }
  return write + first;
}

void PhaseRunner::run_token_shift(const RecurrentItem& item) noexcept {
  const uint64_t stride = columns(item.op.inputs[0]);
  const uint64_t first = item.chunk * kItemColumns;
  const uint64_t bytes = item_width(stride, item.chunk) * sizeof(float);
  const float* x = f32_row(item.op.inputs[0], item.sequence.first_token) + first;
  float* out = f32_row(item.op.outputs[0], item.sequence.first_token) + first;
  float* state = begin_state(item, first, item_width(stride, item.chunk));
  const uint64_t last = item.sequence.num_tokens - 1;
  std::memcpy(out, state, bytes);
  for (uint64_t t = 0; t < last; ++t) std::memcpy(out + (t + 1) * stride, x + t * stride, bytes);
  std::memcpy(state, x + last * stride, bytes);
}

void PhaseRunner::run_conv(const RecurrentItem& item) noexcept {
  const uint64_t stride = columns(item.op.inputs[0]);
  const uint64_t first = item.chunk * kItemColumns;
  const auto taps = static_cast<uint32_t>(columns(item.op.inputs[1]));
  const float* bias = vector(item.op.inputs[2]);
  ConvArgs args{};
  args.taps = taps;
  args.num_tokens = item.sequence.num_tokens;
  args.columns = item_width(stride, item.chunk);
  args.stride = stride;
  args.state = begin_state(item, first, args.columns, taps - 1, stride);
  args.x = f32_row(item.op.inputs[0], item.sequence.first_token) + first;
  args.weight = vector(item.op.inputs[1]) + first;
  args.bias = bias == nullptr ? nullptr : bias + first;
  args.out = f32_row(item.op.outputs[0], item.sequence.first_token) + first;
  k_.conv(args);
}

/// What all scans have in common; the tile's lanes begin at column `first_column` of the result.
StateScan PhaseRunner::begin_scan(const RecurrentItem& item, const StateTiles& tiles,
                                  const StateTile& tile, uint64_t first_column) noexcept {
  const uint32_t out = item.op.outputs[0];
  const auto [read, write] = state_places(item);
  StateScan scan{};
  scan.state = write + tile.offset;
  scan.before = read == nullptr ? begin_state(item, tile.offset, tiles.rows * tile.width)
                                : read + tile.offset;
  scan.width = tile.width;
  scan.rows = tiles.rows;
  scan.num_tokens = item.sequence.num_tokens;
  scan.out = f32_row(out, item.sequence.first_token) + first_column;
  scan.out_stride = columns(out);
  return scan;
}

void PhaseRunner::run_ssm_scan(const RecurrentItem& item) noexcept {
  const tenon_op& op = item.op;
  const tenon_ssm_scan_params& params = op.params.ssm_scan;
  const StateTiles tiles = tiles_of(op);
  const StateTile tile = tiles.tile(item.chunk);
  const uint32_t token = item.sequence.first_token;
  const bool channels = has_channels(params, x_.plan_.slots[op.inputs[0]].slot);
  const uint64_t first = tile.head * tiles.lanes + tile.first_lane;  // column of x
  const uint64_t head = channels ? first : tile.head;
  const uint64_t group = channels ? tile.head : tile.head / (params.heads / params.groups);
  const float* skip = vector(op.inputs[5]);
  SsmScanArgs args{};
  args.scan = begin_scan(item, tiles, tile, first);
  args.channels = channels;
  args.one_decay = columns(op.inputs[2]) == 1;
  args.x = f32_row(op.inputs[0], token) + first;
  args.dt = f32_row(op.inputs[1], token) + head;
  args.a = vector(op.inputs[2]) + head;
  args.b = f32_row(op.inputs[3], token) + group * params.size;
  args.c = f32_row(op.inputs[4], token) + group * params.size;
  args.skip = skip == nullptr ? nullptr : skip + head;
  args.dt_stride = args.a_stride = params.heads;
  args.b_stride = columns(op.inputs[3]);
  k_.ssm_scan(args);
}

void PhaseRunner::run_delta_rule(const RecurrentItem& item, uint32_t thread) noexcept {
  const tenon_op& op = item.op;
  const tenon_delta_rule_params& params = op.params.delta_rule;
  const StateTiles tiles = tiles_of(op);
  const StateTile tile = tiles.tile(item.chunk);
  const uint32_t token = item.sequence.first_token;
  const uint64_t key = backends::key_head(params, tile.head) * tiles.rows;
  const uint64_t value = tile.head * tiles.lanes + tile.first_lane;
  DeltaRuleArgs args{};
  args.scan = begin_scan(item, tiles, tile, value);
  args.q = f32_row(op.inputs[0], token) + key;
  args.k = f32_row(op.inputs[1], token) + key;
  args.v = f32_row(op.inputs[2], token) + value;
  args.decay_stride = columns(op.inputs[3]);
  args.decay_per_row = args.decay_stride != params.value_heads;
  args.decay = f32_row(op.inputs[3], token) + tile.head * (args.decay_per_row ? tiles.rows : 1);
  args.beta = f32_row(op.inputs[4], token) + tile.head;
  args.key_stride = columns(op.inputs[0]);
  args.beta_stride = params.value_heads;
  args.scale = params.scale;
  args.scratch = x_.scratch_[thread].recurrence;
  k_.delta_rule(args);
}

void PhaseRunner::run_wkv7(const RecurrentItem& item) noexcept {
  const tenon_op& op = item.op;
  const StateTiles tiles = tiles_of(op);
  const StateTile tile = tiles.tile(item.chunk);
  const uint64_t key = tile.head * tiles.rows;
  const auto input = [&](uint32_t i) {
    return f32_row(op.inputs[i], item.sequence.first_token) + key;
  };
  Wkv7Args args{};
  args.scan = begin_scan(item, tiles, tile, key + tile.first_lane);
  args.r = input(0);
  args.w = input(1);
  args.k = input(2);
  args.v = input(3) + tile.first_lane;
  args.a = input(4);
  args.b = input(5);
  k_.wkv7(args);
}

void PhaseRunner::run_wkv6(const RecurrentItem& item) noexcept {
  const tenon_op& op = item.op;
  const StateTiles tiles = tiles_of(op);
  const StateTile tile = tiles.tile(item.chunk);
  const uint64_t key = tile.head * tiles.rows;
  const auto input = [&](uint32_t i) {
    return f32_row(op.inputs[i], item.sequence.first_token) + key;
  };
  const float* bonus = vector(op.inputs[4]);
  Wkv6Args args{};
  args.scan = begin_scan(item, tiles, tile, key + tile.first_lane);
  args.r = input(0);
  args.w = input(1);
  args.k = input(2);
  args.v = input(3) + tile.first_lane;
  args.u = bonus == nullptr ? nullptr : bonus + key;
  k_.wkv6(args);
}

}  // namespace tenon::cpu
