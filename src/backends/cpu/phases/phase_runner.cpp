#include "backends/cpu/phases/phase_runner.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/common/rounded_values.h"
#include "backends/common/step_rules.h"
#include "backends/cpu/layouts/cache_block.h"

namespace tenon::cpu {
namespace {

/// Work items that a thread takes at once, from `item` on: a long run of weights for each thread at
/// first, because every start of a run costs memory some microseconds, then shares of the rest, so
/// that all arrive within an item's time of each other even when a core was stalled. The items of
/// attention and recurrences are not of one size: shares of what is left from the beginning.
uint32_t items_at_once(PhaseKind kind, uint32_t item, uint32_t num_items, uint32_t num_threads) {
  if (kind == PhaseKind::Attention || kind == PhaseKind::AttentionPools ||
      kind == PhaseKind::Select || kind == PhaseKind::Recurrent)
    return std::max(1u, (num_items - item) / (2 * num_threads));
  const uint32_t run = num_items / num_threads * 7 / 8;
  return item < run * num_threads ? run : std::max(1u, (num_items - item) / num_threads);
}

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

uint32_t blocks_of_head(const LinearTask& task) {
  return static_cast<uint32_t>((task.head_columns() + task.block - 1) / task.block);
}

uint32_t num_blocks(const LinearTask& task) { return task.heads * blocks_of_head(task); }

}  // namespace

bool PhaseRunner::cancelled() noexcept {
  const uint32_t* flag = x_.state_.step->cancel;
  if (flag != nullptr && __atomic_load_n(flag, __ATOMIC_RELAXED) != 0) {
    cancelled_.store(true, std::memory_order_relaxed);
  }
  return cancelled_.load(std::memory_order_relaxed);
}

uint64_t PhaseRunner::num_rows(uint32_t row_class) const noexcept {
  return backends::num_rows(*x_.state_.step, row_class);
}

uint32_t PhaseRunner::num_items(const Phase& phase) const noexcept {
  const auto rows = static_cast<uint32_t>(num_rows(phase.row_class));
  if (rows == 0) return 0;
  // Rows of a group lie between each other (QuantRows): two threads would share each line.
  if (phase.kind == PhaseKind::Rows) return (rows + kRowInterleave - 1) / kRowInterleave;
  if (phase.kind == PhaseKind::Select) return rows * select_parts(phase.select);
  if (phase.kind == PhaseKind::Compress) return rows;
  if (phase.kind == PhaseKind::AttentionPools) {
    return rows * pool_head_chunks(phase.attention.params.attention_pools.heads);
  }
  if (phase.kind == PhaseKind::Attention && phase.looks_at_selected()) {
    const tenon_attention_params& params = phase.attention.params.attention;
    return rows * selected_head_chunks(params, x_.program_.groups()[params.group]);
  }
  if (phase.kind == PhaseKind::Attention) {
    return x_.attention_plans_[phase.attention_plan].num_items();
  }
  if (phase.kind == PhaseKind::Recurrent) {
    return static_cast<uint32_t>(x_.state_.step->num_sequences * recurrent_chunks(phase.recurrent));
  }
  if (phase.kind == PhaseKind::Route) return rows;
  if (phase.kind != PhaseKind::Linear) return num_expert_items(phase);
  uint32_t items = 0;
  for (const LinearTask& task : phase.tasks) items += num_blocks(task);
  return items;
}

bool PhaseRunner::is_for_one(uint32_t phase_index) const noexcept {
  const Phase& phase = x_.plan_.phases[phase_index];
  switch (phase.kind) {
    case PhaseKind::Rows:
    case PhaseKind::Compress:
    case PhaseKind::Recurrent:
    case PhaseKind::Route:
      return num_items(phase) <= 1;
    case PhaseKind::Linear:
      return num_items(phase) == 0;
    default:
      return false;
  }
}

void PhaseRunner::run(uint32_t phase_index, uint32_t thread, uint32_t num_threads) noexcept {
  const Phase& phase = x_.plan_.phases[phase_index];
  const uint32_t items = num_items(phase);
  std::atomic<uint32_t>& next = x_.next_item_[phase_index];
  uint32_t item = next.load(std::memory_order_relaxed);
  // A phase of a long prompt takes tenths of a second: a cancel is not left waiting for its end.
  while (item < items) {
    const uint32_t end = item + items_at_once(phase.kind, item, items, num_threads);
    if (!next.compare_exchange_weak(item, end, std::memory_order_relaxed)) continue;
    while (item < end) {
      if (cancelled()) return;
      switch (phase.kind) {
        case PhaseKind::Rows:
          run_row_group(phase, item++);
          break;
        case PhaseKind::Linear:
          item += run_linear(phase, item, end - item, thread);
          break;
        case PhaseKind::Attention:
          if (phase.looks_at_selected()) {
            run_selected_attention(phase, item++, thread);
          } else {
            run_attention(phase, item++, thread);
          }
          break;
        case PhaseKind::AttentionPools:
          run_attention_pools(phase, item++, thread);
          break;
        case PhaseKind::Select:
          if (phase.select.kind == TENON_OP_SELECT_BLOCKS) {
            run_select_blocks(phase, item++, thread);
          } else {
            run_select(phase, item++, thread);
          }
          break;
        case PhaseKind::Compress:
          run_compress(phase, item++);
          break;
        case PhaseKind::Recurrent:
          run_recurrent(phase, item++, thread);
          break;
        case PhaseKind::Route:
          run_route(phase, item++, thread);
          break;
        case PhaseKind::Gather:
          run_gather(phase, item++);
          break;
        case PhaseKind::Experts:
          item += run_experts(phase, item, end - item, thread);
          break;
      }
    }
    item = next.load(std::memory_order_relaxed);
  }
}

// ---- Row phases
// ------------------------------------------------------------------------------------

void PhaseRunner::quantise_row(uint32_t slot, uint64_t row) noexcept {
  k_.quantise(f32_row(slot, row), columns(slot), x_.activations_[slot].quantised, row, 1, 0,
              columns(slot));
}

void PhaseRunner::run_row_group(const Phase& phase, uint64_t group) noexcept {
  const uint64_t end = std::min((group + 1) * kRowInterleave, num_rows(phase.row_class));
  for (uint64_t row = group * kRowInterleave; row < end; ++row) run_row(phase, row);
}

void PhaseRunner::run_row(const Phase& phase, uint64_t row) noexcept {
  for (const RowOp& step : phase.rows) {
    if (step.kind == RowKind::Quantise) {
      quantise_row(step.slot, row);
    } else if (step.kind == RowKind::Op) {
      run_op(step.op, row);
    } else {
      const tenon_cache_group& group = x_.program_.groups()[step.op.params.kv.group];
      write_cache(step, f32_row(step.slot, row), row, 0, group.kv_heads);
    }
  }
}

void PhaseRunner::run_op(const tenon_op& op, uint64_t row) noexcept {
  const tenon_step& step = *x_.state_.step;
  float* out = f32_row(op.outputs[0], row);
  const uint64_t n = columns(op.outputs[0]);
  const auto input = [&](uint32_t i) { return f32_row(op.inputs[i], row); };
  switch (op.kind) {
    case TENON_OP_EMBED: {
      const bool by_position = op.params.embed.source == TENON_EMBED_POSITIONS;
      const int32_t number = by_position ? position(row) : step.tokens[row];
      unpack_row(x_.weights_[op.inputs[0]].matrix, static_cast<uint64_t>(number), out);
      break;
    }
    case TENON_OP_NGRAM_ROWS:
      ngram_rows(op, row, out);
      break;
    case TENON_OP_RMS_NORM:
    case TENON_OP_LAYER_NORM:
    case TENON_OP_L2_NORM:
      norm(op, input(0), out, n);
      break;
    case TENON_OP_ROPE_ANGLES:
      angles(op, row, out);
      break;
    case TENON_OP_ROPE:
      rope_heads(op, input(0), row, out, n);
      break;
    case TENON_OP_GLU:
      k_.glu(op.params.glu, input(0), input(1), out, n);
      break;
    case TENON_OP_ADD:
      k_.add(input(0), operand(op.inputs[1], row), out, n);
      break;
    case TENON_OP_SCALE:
      scale(op, input(0), out, n);
      break;
    case TENON_OP_SOFT_CAP:
      k_.soft_cap(input(0), op.params.soft_cap.cap, out, n);
      break;
    case TENON_OP_SIGMOID_GATE:
      gate_row(op, row, out, n);
      break;
    case TENON_OP_ACTIVATE:
      k_.activate(op.params.activate, input(0), out, n);
      break;
    case TENON_OP_MUL:
      multiply_row(op, row, out, n);
      break;
    case TENON_OP_SUM_SEGMENTS:
      sum_segments(op, row, out, n);
      break;
    case TENON_OP_SOFTMAX:
      softmax(op.params.segments, input(0), out, n);
      break;
    case TENON_OP_SLICE:
      slice(op, row, out);
      break;
    case TENON_OP_CONCAT:
      concat(op, row, out);
      break;
    case TENON_OP_POSITION_SCALE:
      scale_by_position(op, row, out, n);
      break;
    case TENON_OP_MIX_STREAMS:
      mix_streams(op, row, out);
      break;
    case TENON_OP_SINKHORN:
      sinkhorn(op.params.sinkhorn, input(0), out);
      break;
    case TENON_OP_ROUND:
      backends::round_values(op.params.round, input(0), out, n);
      break;
    case TENON_OP_POOL:
      pool(op, row, out, n);
      break;
    case kOpSumExperts:
      sum_experts(op, row);
      break;
    case TENON_OP_GATHER_ROWS:
      std::memcpy(out, f32_row(op.inputs[0], step.output_rows[row]), n * sizeof(float));
      break;
    default:
      break;
  }
}

void PhaseRunner::write_cache(const RowOp& row, const float* values, uint64_t token,
                              uint64_t first_head, uint64_t num_heads) noexcept {
  const tenon_kv_params& params = row.op.params.kv;
  const tenon_cache_group& group = x_.program_.groups()[params.group];
  const CacheBlock shape(group);
  const bool keys = row.kind == RowKind::WriteKeys;
  const uint64_t dim = keys ? group.key_dim : group.value_dim;
  const uint32_t sequence = x_.state_.token_sequence[token];
  const uint32_t position = x_.state_.token_position[token];
  if (!backends::has_row(group, position)) return;
  const backends::CacheRow at = backends::cache_row_of(group, position);
  const uint8_t* block =
      x_.state_.blocks[params.group][x_.state_.first_block[params.group][sequence] + at.block];
  for (uint64_t h = 0; h < num_heads; ++h) {
    const float* head = values + h * dim;
    const uint64_t area = params.layer * group.kv_heads + first_head + h;
    k_.kv_write(keys ? head : nullptr, keys ? nullptr : head, shape,
                const_cast<uint8_t*>(block) + area * shape.area_bytes(), at.slot);
  }
}

// ---- Linear phases
// ---------------------------------------------------------------------------------

/// y = columns of x W^T for all rows of the input.
void PhaseRunner::multiply(const PackedWeight& w, const LinearInput& input,
                           const ColumnBlock& block, float* y, uint32_t thread) noexcept {
  LinearArgs args{};
  args.weights = w.data;
  args.panel_bytes = panel_bytes(*w.layout, w.depth);
  args.first_panel = block.first / w.layout->panel_rows;
  args.num_panels = (block.width + w.layout->panel_rows - 1) / w.layout->panel_rows;
  args.weight_rows = w.rows;
  args.depth = w.depth;
  args.y_stride = block.stride();
  args.tile = x_.scratch_[thread].tile;
  args.chunk = x_.scratch_[thread].chunk;
  args.decode_row = w.format->decode_row;
  args.row_bytes = w.depth / w.format->block_values * w.format->block_bytes;
  args.block_values = w.format->block_values;
  args.block_bytes = w.format->block_bytes;
  args.num_rows = block.num_rows;
  args.quantised = input.quantised;
  // Weights beside these may read the rows so, which then are there or not yet.
  if (!is_fixed_point(*w.layout, k_)) args.quantised.fixed = nullptr;
  args.x = input.f32;
  args.x_stride = input.f32_stride;
  args.y = y;
  k_.linear[static_cast<uint32_t>(w.layout->kind)](args);
}

void PhaseRunner::add_bias(uint32_t bias, uint64_t first, const ColumnBlock& block,
                           float* y) noexcept {
  if (bias == TENON_NO_SLOT) return;
  for (uint64_t t = 0; t < block.num_rows; ++t) {
    float* row = y + t * block.stride();
    k_.add(row, vector(bias) + first + block.first, row, block.width);
  }
}

/// One operation of a task's chain, in place on the block.
void PhaseRunner::apply(const RowOp& row, const ColumnBlock& block) noexcept {
  const tenon_op& op = row.op;
  for (uint64_t t = 0; t < block.num_rows; ++t) {
    float* y = block.y + t * block.stride();
    switch (op.kind) {
      case TENON_OP_KV_WRITE: {
        const tenon_cache_group& group = x_.program_.groups()[op.params.kv.group];
        const uint64_t dim = row.kind == RowKind::WriteKeys ? group.key_dim : group.value_dim;
        write_cache(row, y, t, block.first / dim, block.width / dim);
        break;
      }
      case TENON_OP_RMS_NORM:
      case TENON_OP_LAYER_NORM:
      case TENON_OP_L2_NORM:
        norm(op, y, y, block.width);
        break;
      case TENON_OP_ROPE:
        rope_heads(op, y, t, y, block.width);
        break;
      case TENON_OP_ACTIVATE:
        k_.activate(op.params.activate, y, y, block.width);
        break;
      case TENON_OP_GLU:
        k_.glu(op.params.glu, y, block.y2 + t * block.stride(), y, block.width);
        break;
      case TENON_OP_ADD: {
        const float* other = operand(x_.plan_.other_operand(op), t);
        k_.add(y, other + block.first, y, block.width);
        break;
      }
      case TENON_OP_SCALE:
        scale(op, y, y, block.width);
        break;
      case TENON_OP_SOFT_CAP:
        k_.soft_cap(y, op.params.soft_cap.cap, y, block.width);
        break;
      case TENON_OP_SIGMOID_GATE:
        k_.scale(y, sigmoid(*f32_row(op.inputs[1], t)), y, block.width);
        break;
      default:
        break;
    }
  }
}

void PhaseRunner::finish(const LinearTask& task, const ColumnBlock& block) noexcept {
  for (uint64_t t = 0; task.store != TENON_NO_SLOT && t < block.num_rows; ++t) {
    std::memcpy(f32_row(task.store, t) + block.first, block.y + t * block.stride(),
                block.width * sizeof(float));
  }
  if (task.quantise != TENON_NO_SLOT) {
    k_.quantise(block.y, block.stride(), x_.activations_[task.quantise].quantised, 0,
                block.num_rows, block.first, block.width);
  }
}

uint32_t PhaseRunner::run_linear(const Phase& phase, uint32_t item, uint32_t most,
                                 uint32_t thread) noexcept {
  const LinearTask* task = phase.tasks.data();
  while (item >= num_blocks(*task)) item -= num_blocks(*task++);
  const Executable::ThreadScratch& scratch = x_.scratch_[thread];
  const uint64_t rows = num_rows(phase.row_class);
  const uint64_t joined = max_width(*task, grouped_rows(rows), x_.max_rows()) / task->block;
  const uint32_t head = item / blocks_of_head(*task);
  const uint32_t first = item % blocks_of_head(*task);
  const auto count =
      static_cast<uint32_t>(std::min<uint64_t>({most, blocks_of_head(*task) - first, joined}));
  ColumnBlock block{};
  block.first = first * task->block;
  block.width = std::min(count * task->block, task->head_columns() - block.first);
  block.num_rows = rows;
  block.y = scratch.y;
  block.y2 = scratch.y2;
  const Executable::Weight& weight = x_.weights_[task->weight];
  LinearInput input{x_.activations_[phase.input].quantised, f32_row(phase.input, 0),
                    columns(phase.input)};
  if (head > 0) {
    input.quantised = columns_from(input.quantised, head * weight.matrix.depth);
    if (input.f32 != nullptr) input.f32 += head * weight.matrix.depth;
  }
  multiply(weight.expert(head), input, block, scratch.y, thread);
  block.first += head * task->head_columns();
  add_bias(task->bias, 0, block, scratch.y);
  if (task->second != TENON_NO_SLOT) {
    multiply(x_.weights_[task->second].matrix, input, block, scratch.y2, thread);
    add_bias(task->second_bias, 0, block, scratch.y2);
  }
  for (const RowOp& row : task->chain) apply(row, block);
  finish(*task, block);
  return count;
}

}  // namespace tenon::cpu
