#include <algorithm>
#include <utility>

#include "base/error.h"
#include "program/ops.h"
#include "program/program.h"

namespace tenon {
namespace {

tenon_op op_of(uint32_t kind) {
  tenon_op op{};
  op.kind = kind;
  for (uint32_t& input : op.inputs) input = TENON_NO_SLOT;
  for (uint32_t& output : op.outputs) output = TENON_NO_SLOT;
  return op;
}

tenon_slot slot_of(uint32_t kind, uint32_t type, uint64_t rows, uint64_t columns) {
  tenon_slot slot{};
  slot.kind = kind;
  slot.type = type;
  slot.rows = rows;
  slot.columns = columns;
  slot.plan_offset = TENON_NO_PLAN;
  return slot;
}

uint32_t number(Slot slot) { return static_cast<uint32_t>(slot); }

tenon_state_params state_of(const StatePlace& place) {
  return {place.group, place.layer, place.offset};
}

tenon_op select_op(uint32_t kind, const SelectWithinOptions& o) {
  tenon_op op = op_of(kind);
  op.params.select_within = {o.group, o.layer, o.heads, o.count, o.block};
  return op;
}

}  // namespace

Slot ProgramBuilder::add_slot(tenon_slot slot, std::string_view name) {
  program_.names_.push_back(std::make_unique<const std::string>(name));
  slot.name = program_.names_.back()->c_str();
  program_.slots_.push_back(slot);
  return Slot{static_cast<uint32_t>(program_.slots_.size() - 1)};
}

ProgramBuilder::Outputs ProgramBuilder::add_op(tenon_op op, std::initializer_list<Slot> inputs) {
  const auto index = static_cast<uint32_t>(program_.ops_.size());
  OpView view{op,
              index,
              {},
              Strided<tenon_cache_group>(program_.groups_.data(),
                                         static_cast<uint32_t>(program_.groups_.size()),
                                         sizeof(tenon_cache_group)),
              position_parts_};
  uint32_t i = 0;
  for (const Slot input : inputs) {
    if (input != kNoSlot) {
      if (number(input) >= program_.slots_.size()) {
        fail(Code::Internal, "{}: there is no slot {}", op_label(index, op.kind), number(input));
      }
      op.inputs[i] = number(input);
      op.num_inputs = i + 1;
      view.inputs[i] = &program_.slots_[number(input)];
    }
    ++i;
  }
  const OpOutputs made = check_op(view);
  Outputs outputs{kNoSlot, kNoSlot};
  for (uint32_t o = 0; o < made.count; ++o) {
    tenon_slot slot = slot_of(TENON_SLOT_ACTIVATION, made.list[o].type, 0, made.list[o].columns);
    slot.row_class = made.list[o].row_class;
    const char* suffix = o == 0 ? "" : ".2";
    outputs[o] = add_slot(slot, fmt::format("{}#{}{}", find_op(op.kind)->name, index, suffix));
    op.outputs[o] = number(outputs[o]);
  }
  op.num_outputs = made.count;
  program_.ops_.push_back(op);
  return outputs;
}

Slot ProgramBuilder::weight(std::string_view name, Format format, uint64_t rows, uint64_t columns) {
  const auto type = static_cast<uint32_t>(format);
  for (uint32_t i = 0; i < program_.slots_.size(); ++i) {
    const tenon_slot& slot = program_.slots_[i];
    if (slot.kind != TENON_SLOT_WEIGHT || slot.name != name) continue;
    if (slot.type != type || slot.rows != rows || slot.columns != columns) {
      fail(Code::Internal, "weight \"{}\": asked for with two shapes or formats", name);
    }
    return Slot{i};
  }
  return add_slot(slot_of(TENON_SLOT_WEIGHT, type, rows, columns), name);
}

Slot ProgramBuilder::constant(std::string_view name, std::span<const double> values) {
  program_.constants_.emplace_back(values.begin(), values.end());
  tenon_slot slot = slot_of(TENON_SLOT_CONSTANT, TENON_TYPE_F64, 1, values.size());
  slot.data = program_.constants_.back().data();
  return add_slot(slot, name);
}

Slot ProgramBuilder::integers(std::string_view name, std::span<const int64_t> values,
                              uint64_t columns) {
  program_.integers_.emplace_back(values.begin(), values.end());
  tenon_slot slot = slot_of(TENON_SLOT_CONSTANT, TENON_TYPE_I64, values.size() / columns, columns);
  slot.data = program_.integers_.back().data();
  return add_slot(slot, name);
}

Slot ProgramBuilder::input(std::string_view name, uint32_t row_class, uint64_t columns) {
  tenon_slot slot = slot_of(TENON_SLOT_INPUT, TENON_TYPE_F32, 0, columns);
  slot.row_class = row_class;
  return add_slot(slot, name);
}

uint32_t ProgramBuilder::cache_group(const CacheGroup& group) {
  const bool windowed = group.kind == TENON_CACHE_FULL && group.window > 0;
  const uint32_t kind = windowed ? TENON_CACHE_WINDOW : group.kind;
  program_.groups_.push_back({group.layers, group.kv_heads, group.key_dim, group.value_dim,
                              group.type, group.block_tokens, kind, group.window, 0, 0,
                              group.stride});
  return static_cast<uint32_t>(program_.groups_.size() - 1);
}

void ProgramBuilder::position_parts(uint32_t parts) {
  if (!program_.ops_.empty()) fail(Code::Internal, "position_parts after the first operation");
  position_parts_ = parts;
}

Slot ProgramBuilder::embed(Slot table, uint32_t source) {
  tenon_op op = op_of(TENON_OP_EMBED);
  op.params.embed = {source};
  return add(op, {table});
}

Slot ProgramBuilder::ngram_rows(Slot table, const NgramLookup& ngrams) {
  std::vector<int64_t> heads;
  for (const auto& [order, offset, size] : ngrams.heads) {
    const auto numbers = std::array<uint64_t, 3>{order, offset, size};
    heads.insert(heads.end(), numbers.begin(), numbers.end());
  }
  tenon_op op = op_of(TENON_OP_NGRAM_ROWS);
  op.params.ngram_rows = {ngrams.end};
  const Slot multipliers = integers("multipliers", ngrams.multipliers, ngrams.multipliers.size());
  Slot map = kNoSlot;
  if (ngrams.map) {
    const auto [found, is_new] = token_maps_.try_emplace(ngrams.map.get(), kNoSlot);
    if (is_new) found->second = integers("token map", *ngrams.map, ngrams.map->size());
    map = found->second;
  }
  const Slot rows = add(op, {table, multipliers, integers("heads", heads, 3), map});
  look_back(static_cast<uint32_t>(ngrams.multipliers.size() - 1));
  return rows;
}

void ProgramBuilder::look_back(uint32_t tokens) {
  token_history_ = std::max(token_history_, tokens);
}

uint32_t ProgramBuilder::state_group(uint32_t layers, uint32_t values) {
  tenon_cache_group group{};
  group.layers = layers;
  group.type = TENON_TYPE_F32;
  group.kind = TENON_CACHE_STATE;
  group.state_values = values;
  program_.groups_.push_back(group);
  return static_cast<uint32_t>(program_.groups_.size() - 1);
}

Slot ProgramBuilder::rms_norm(Slot x, Slot weight, float epsilon, uint32_t segment) {
  return add_norm(TENON_OP_RMS_NORM, {x, weight}, epsilon, segment);
}

Slot ProgramBuilder::layer_norm(Slot x, Slot weight, Slot bias, float epsilon, uint32_t segment) {
  return add_norm(TENON_OP_LAYER_NORM, {x, weight, bias}, epsilon, segment);
}

Slot ProgramBuilder::l2_norm(Slot x, float epsilon, uint32_t segment) {
  return add_norm(TENON_OP_L2_NORM, {x}, epsilon, segment);
}

Slot ProgramBuilder::add_norm(uint32_t kind, std::initializer_list<Slot> inputs, float epsilon,
                              uint32_t segment) {
  tenon_op op = op_of(kind);
  const uint32_t x = number(*inputs.begin());
  if (segment == 0 && x < program_.slots_.size()) {
    segment = static_cast<uint32_t>(program_.slots_[x].columns);
  }
  op.params.norm = {epsilon, segment};
  return add(op, inputs);
}

Slot ProgramBuilder::linear(Slot x, Slot weight, Slot bias) {
  return add(op_of(TENON_OP_LINEAR), {x, weight, bias});
}

Slot ProgramBuilder::linear_heads(Slot x, Slot weight, uint32_t heads) {
  tenon_op op = op_of(TENON_OP_LINEAR_HEADS);
  op.params.linear_heads = {heads};
  return add(op, {x, weight});
}

Slot ProgramBuilder::rope_angles(Slot frequencies, float magnitude, Slot parts, int32_t offset) {
  tenon_op op = op_of(TENON_OP_ROPE_ANGLES);
  op.params.rope_angles = {magnitude, offset};
  return add(op, {frequencies, parts});
}

Slot ProgramBuilder::rope(Slot x, Slot angles, uint32_t style, uint32_t head_dim, uint32_t offset) {
  tenon_op op = op_of(TENON_OP_ROPE);
  op.params.rope = {style, head_dim, offset};
  return add(op, {x, angles});
}

void ProgramBuilder::kv_write(Slot k, Slot v, uint32_t group, uint32_t layer) {
  tenon_op op = op_of(TENON_OP_KV_WRITE);
  op.params.kv = {group, layer};
  add_op(op, {k, v});
}

Slot ProgramBuilder::attention(Slot q, const AttentionOptions& options) {
  tenon_op op = op_of(TENON_OP_ATTENTION);
  tenon_attention_params& attention = op.params.attention;
  attention.group = options.group;
  attention.layer = options.layer;
  attention.heads = options.heads;
  attention.window = options.window;
  attention.scale = options.scale;
  attention.soft_cap = options.soft_cap;
  attention.mask = options.mask;
  attention.bias = options.bias;
  attention.two_sided = options.two_sided ? 1 : 0;
  attention.max_distance = options.max_distance;
  if (options.selection != kNoSlot) {
    attention.selections = options.selections;
    attention.selected_block = options.selected_block;
    attention.selected_rest = options.selected_rest ? 1 : 0;
  }
  return add(op, {q, options.sinks, options.bias_values, options.selection});
}

Slot ProgramBuilder::attention_pools(Slot q, const PoolAttentionOptions& options) {
  tenon_op op = op_of(TENON_OP_ATTENTION_POOLS);
  op.params.attention_pools = {options.group, options.layer,      options.heads,     options.window,
                               options.scale, options.pool_group, options.pool_layer};
  return add(op, {q, options.sinks, options.selection});
}

Slot ProgramBuilder::select(Slot q, Slot weights, const SelectOptions& options) {
  tenon_op op = op_of(TENON_OP_SELECT);
  op.params.select = {options.group, options.layer, options.heads, options.count};
  return add(op, {q, weights});
}

Slot ProgramBuilder::select_candidates(Slot q, Slot weights, const SelectWithinOptions& options) {
  return add(select_op(TENON_OP_SELECT_CANDIDATES, options), {q, weights});
}

Slot ProgramBuilder::select_within(Slot q, Slot weights, Slot candidates,
                                   const SelectWithinOptions& options) {
  return add(select_op(TENON_OP_SELECT_WITHIN, options), {q, weights, candidates});
}

Slot ProgramBuilder::compress(Slot bias, const CompressOptions& options) {
  tenon_op op = op_of(TENON_OP_COMPRESS);
  op.params.compress = {options.group, options.layer, options.stride, options.overlap ? 1u : 0u};
  return add(op, {bias});
}

Slot ProgramBuilder::select_blocks(Slot q, const SelectBlocksOptions& options) {
  tenon_op op = op_of(TENON_OP_SELECT_BLOCKS);
  op.params.select_blocks = {options.group, options.layer, options.heads,
                             options.count, options.block, options.local};
  return add(op, {q});
}

Slot ProgramBuilder::glu(uint32_t activation, Slot gate, Slot up) {
  return glu(GluOptions{.activation = activation}, gate, up);
}

Slot ProgramBuilder::glu(const GluOptions& options, Slot gate, Slot up) {
  tenon_op op = op_of(TENON_OP_GLU);
  op.params.glu = {options.activation, options.alpha, options.limit, options.up_offset,
                   options.limit_after ? 1u : 0u};
  return add(op, {gate, up});
}

Slot ProgramBuilder::activate(uint32_t activation, Slot x) {
  tenon_op op = op_of(TENON_OP_ACTIVATE);
  op.params.activate.activation = activation;
  return add(op, {x});
}

Slot ProgramBuilder::xielu(const XieluOptions& options, Slot x) {
  tenon_op op = op_of(TENON_OP_ACTIVATE);
  op.params.activate = {TENON_ACTIVATION_XIELU, options.alpha_p, options.alpha_n, options.beta,
                        options.epsilon};
  return add(op, {x});
}

Slot ProgramBuilder::signed_root(Slot x, float epsilon) {
  tenon_op op = op_of(TENON_OP_ACTIVATE);
  op.params.activate.activation = TENON_ACTIVATION_SIGNED_ROOT;
  op.params.activate.epsilon = epsilon;
  return add(op, {x});
}

Slot ProgramBuilder::add(Slot x, Slot y) { return add(op_of(TENON_OP_ADD), {x, y}); }

Slot ProgramBuilder::mul(Slot x, Slot y) { return add(op_of(TENON_OP_MUL), {x, y}); }

Slot ProgramBuilder::scale(Slot x, float factor, float offset) {
  tenon_op op = op_of(TENON_OP_SCALE);
  op.params.scale = {factor, offset};
  return add(op, {x});
}

Slot ProgramBuilder::mix_streams(Slot x, const MixOptions& options) {
  tenon_op op = op_of(TENON_OP_MIX_STREAMS);
  op.params.mix_streams = {options.streams, options.results};
  return add(op, {x, options.matrix, options.added, options.factors});
}

Slot ProgramBuilder::round(Slot x, uint32_t format, uint32_t segment) {
  tenon_op op = op_of(TENON_OP_ROUND);
  op.params.round = {format, segment};
  return add(op, {x});
}

Slot ProgramBuilder::sinkhorn(Slot x, const SinkhornOptions& options) {
  tenon_op op = op_of(TENON_OP_SINKHORN);
  op.params.sinkhorn = {options.size, options.iterations, options.epsilon};
  return add(op, {x});
}

Slot ProgramBuilder::position_scale(Slot x, float scale, uint32_t length, uint32_t offset) {
  tenon_op op = op_of(TENON_OP_POSITION_SCALE);
  op.params.position_scale = {scale, length, offset};
  return add(op, {x});
}

Slot ProgramBuilder::sum_segments(Slot x, uint32_t size) {
  tenon_op op = op_of(TENON_OP_SUM_SEGMENTS);
  op.params.segments = {size};
  return add(op, {x});
}

Slot ProgramBuilder::softmax(Slot x, uint32_t size) {
  tenon_op op = op_of(TENON_OP_SOFTMAX);
  op.params.segments = {size};
  return add(op, {x});
}

Slot ProgramBuilder::slice(Slot x, uint32_t segment, uint32_t first, uint32_t columns) {
  tenon_op op = op_of(TENON_OP_SLICE);
  op.params.slice = {segment, first, columns};
  return add(op, {x});
}

Slot ProgramBuilder::concat(Slot x, Slot y, uint32_t segments) {
  return add_concat(x, y, {segments, 0});
}

Slot ProgramBuilder::concat_to_each(Slot x, Slot y, uint32_t segments) {
  return add_concat(x, y, {segments, 1});
}

Slot ProgramBuilder::add_concat(Slot x, Slot y, const tenon_concat_params& params) {
  tenon_op op = op_of(TENON_OP_CONCAT);
  op.params.concat = params;
  return add(op, {x, y});
}

Slot ProgramBuilder::gather_rows(Slot x) { return add(op_of(TENON_OP_GATHER_ROWS), {x}); }

Slot ProgramBuilder::pool(Slot x, uint32_t kind) {
  tenon_op op = op_of(TENON_OP_POOL);
  op.params.pool = {kind};
  return add(op, {x});
}

Slot ProgramBuilder::soft_cap(Slot x, float cap) {
  tenon_op op = op_of(TENON_OP_SOFT_CAP);
  op.params.soft_cap.cap = cap;
  return add(op, {x});
}

Route ProgramBuilder::moe_route(Slot logits, const RouteOptions& options) {
  tenon_op op = op_of(TENON_OP_MOE_ROUTE);
  tenon_moe_route_params& route = op.params.moe_route;
  route.used = options.used;
  route.scoring = options.scoring;
  route.scale = options.scale;
  route.normalise = options.normalise ? 1 : 0;
  route.min_sum = options.min_sum;
  route.groups = options.groups;
  route.groups_used = options.groups_used;
  route.closeness = options.closeness;
  const Outputs outputs =
      add_op(op, {logits, options.selection_bias, options.expert_scale, options.numbers});
  return {outputs[0], outputs[1]};
}

Slot ProgramBuilder::moe_linear(Slot x, const Route& route, Slot weight,
                                const MoeLinearOptions& options) {
  tenon_op op = op_of(TENON_OP_MOE_LINEAR);
  const bool inputs = options.weights == ExpertWeights::Inputs;
  op.params.moe_linear = {options.experts, options.sum ? 1u : 0u,
                          inputs ? TENON_MOE_WEIGHT_INPUTS : TENON_MOE_WEIGHT_OUTPUTS};
  const Slot weights = options.weights == ExpertWeights::None ? kNoSlot : route.weights;
  return add(op, {x, route.ids, weight, weights, options.bias});
}

Slot ProgramBuilder::moe_linear(Slot x, const Route& route, Slot weight, uint32_t experts) {
  return moe_linear(x, route, weight, MoeLinearOptions{.experts = experts});
}

Slot ProgramBuilder::moe_linear_sum(Slot x, const Route& route, Slot weight, uint32_t experts) {
  return moe_linear(x, route, weight,
                    {.experts = experts, .sum = true, .weights = ExpertWeights::Outputs});
}

Slot ProgramBuilder::sigmoid_gate(Slot x, Slot gate) {
  return add(op_of(TENON_OP_SIGMOID_GATE), {x, gate});
}

Slot ProgramBuilder::token_shift(Slot x, const StatePlace& state) {
  tenon_op op = op_of(TENON_OP_TOKEN_SHIFT);
  op.params.state = state_of(state);
  return add(op, {x});
}

Slot ProgramBuilder::conv(Slot x, Slot weight, Slot bias, const StatePlace& state) {
  tenon_op op = op_of(TENON_OP_CONV);
  op.params.state = state_of(state);
  return add(op, {x, weight, bias});
}

Slot ProgramBuilder::ssm_scan(const SsmScanInputs& inputs, const SsmScanOptions& options) {
  tenon_op op = op_of(TENON_OP_SSM_SCAN);
  op.params.ssm_scan = {state_of(options.state), options.heads, options.groups, options.size};
  return add(op, {inputs.x, inputs.dt, inputs.a, inputs.b, inputs.c, inputs.d});
}

Slot ProgramBuilder::delta_rule(const DeltaRuleInputs& inputs, const DeltaRuleOptions& options) {
  tenon_op op = op_of(TENON_OP_DELTA_RULE);
  op.params.delta_rule = {state_of(options.state), options.key_heads, options.value_heads,
                          options.interleaved ? 1u : 0u, options.scale};
  return add(op, {inputs.q, inputs.k, inputs.v, inputs.decay, inputs.beta});
}

Slot ProgramBuilder::wkv7(const Wkv7Inputs& inputs, uint32_t heads, const StatePlace& state) {
  tenon_op op = op_of(TENON_OP_WKV7);
  op.params.wkv7 = {state_of(state), heads};
  return add(op, {inputs.r, inputs.w, inputs.k, inputs.v, inputs.a, inputs.b});
}

Slot ProgramBuilder::wkv6(const Wkv6Inputs& inputs, uint32_t heads, const StatePlace& state) {
  tenon_op op = op_of(TENON_OP_WKV6);
  op.params.wkv6 = {state_of(state), heads};
  return add(op, {inputs.r, inputs.w, inputs.k, inputs.v, inputs.u});
}

void ProgramBuilder::result(Slot slot) { program_.results_.push_back(number(slot)); }

Program ProgramBuilder::finish(Slot logits, const StepLimits& limits) && {
  if (logits != kNoSlot) result(logits);
  Program program = std::move(program_);
  program.complete(logits, limits, position_parts_, token_history_);
  return program;
}

}  // namespace tenon
