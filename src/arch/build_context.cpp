// BuildContext: cache groups by geometry, angles by rope, and operations used by all blocks.
#include "arch/build_context.h"

#include <fmt/format.h>

#include <algorithm>

#include "arch/blocks/mixer.h"
#include "base/error.h"
#include "program/operations.h"

namespace tenon {
namespace {

bool same_kind(const CacheGroup& a, const CacheGroup& b) {
  return a.kind == b.kind && a.window == b.window && a.kv_heads == b.kv_heads &&
         a.key_dim == b.key_dim && a.value_dim == b.value_dim && a.type == b.type &&
         a.stride == b.stride;
}

}  // namespace

BuildContext::BuildContext(const ModelSpec& spec, const ProgramOptions& program_options,
                           TensorBinder& binder, ProgramBuilder& builder)
    : model(spec), options(program_options), tensors(binder), ops(builder) {
  for (const LayerSpec& one : model.layers) {
    if (one.block) tensors.share_slots();
  }
  state_values_.resize(model.layers.size());
  state_.resize(model.layers.size());
  for (uint32_t i = 0; i < model.layers.size(); ++i) add_caches(*this, i);
  for (const CacheGroup& group : groups_) ops.cache_group(group);
  add_state_groups();
  add_angles();
}

void BuildContext::add_cache(uint32_t layer, std::string_view role, const CacheGroup& group) {
  const auto found = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const CacheGroup& other) { return same_kind(other, group); });
  const auto number = static_cast<uint32_t>(found - groups_.begin());
  if (found == groups_.end()) groups_.push_back(group);
  declared_.push_back({layer, role, {number, groups_[number].layers++}, 0});
}

void BuildContext::share_cache(uint32_t layer, std::string_view role, uint32_t source) {
  declared_.push_back({layer, role, cache(source, role), 0});
}

void BuildContext::add_state(uint32_t layer, std::string_view role, uint64_t values) {
  declared_.push_back({layer, role, {}, state_values_[layer]});
  state_values_[layer] += values;
}

BuildContext::CachePlace BuildContext::cache(uint32_t layer, std::string_view role) const {
  return declared(layer, role).place;
}

StatePlace BuildContext::state(uint32_t layer, std::string_view role, uint64_t offset) const {
  return {state_[layer].group, state_[layer].layer,
          static_cast<uint32_t>(declared(layer, role).offset + offset)};
}

const BuildContext::Declared& BuildContext::declared(uint32_t layer, std::string_view role) const {
  auto one = std::ranges::lower_bound(declared_, layer, {}, &Declared::layer);
  for (; one != declared_.end() && one->layer == layer; ++one) {
    if (one->role == role) return *one;
  }
  fail(Code::Internal, "layer {} declares no cache or state \"{}\"", layer, role);
}

CacheGroup BuildContext::latent_group(uint32_t key_dim, uint32_t value_dim) const {
  CacheGroup group;
  group.type = options.cache_type;
  group.block_tokens = options.block_tokens;
  group.kind = TENON_CACHE_LATENT;
  group.kv_heads = 1;
  group.key_dim = key_dim;
  group.value_dim = value_dim;
  return group;
}

Slot& BuildContext::shared(std::string_view name) {
  for (SharedSlot& one : shared_) {
    if (one.name == name) return one.slot;
  }
  return shared_.emplace_front(SharedSlot{name, kNoSlot}).slot;
}

void BuildContext::add_state_groups() {
  for (uint64_t values = 0;;) {  // a group per number of values, the smallest first
    uint64_t next = UINT64_MAX;
    for (const uint64_t one : state_values_) next = one > values ? std::min(next, one) : next;
    if (next == UINT64_MAX) return;
    values = next;
    const auto count = static_cast<uint32_t>(std::ranges::count(state_values_, values));
    const uint32_t group = ops.state_group(count, static_cast<uint32_t>(values));
    uint32_t place = 0;
    for (uint32_t i = 0; i < state_.size(); ++i) {
      if (state_values_[i] == values) state_[i] = {group, place++};
    }
  }
}

void BuildContext::add_angles() {
  const auto has_parts = [](const LayerSpec& one) {
    return one.attention.rope.interleaved_parts != std::array<uint32_t, 2>{};
  };
  if (std::any_of(model.layers.begin(), model.layers.end(), has_parts)) ops.position_parts(3);
  for (uint32_t i = 0; i < model.layers.size(); ++i) {
    const RopeSpec& rope = layer(i).attention.rope;  // no dimensions without attention
    uint32_t same = 0;
    while (!(layer(same).attention.rope == rope)) ++same;
    angles_.push_back(same < i ? angles_[same] : make_angles(rope, {}));
  }
}

Slot BuildContext::angles_before(uint32_t layer, uint32_t back) {
  if (back == 0) return angles(layer);
  return turned_angles(layer, {.offset = -static_cast<int32_t>(back)});
}

Slot BuildContext::angles_back(uint32_t layer) { return turned_angles(layer, {.back = true}); }

Slot BuildContext::turned_angles(uint32_t layer, const Turn& turn) {
  const Slot own = angles(layer);
  if (own == kNoSlot) return kNoSlot;
  for (const TurnedAngles& one : turned_angles_) {
    if (one.angles == own && one.turn == turn) return one.turned;
  }
  const Slot turned = make_angles(this->layer(layer).attention.rope, turn);
  turned_angles_.push_back({own, turn, turned});
  return turned;
}

Slot BuildContext::make_angles(const RopeSpec& rope, const Turn& turn) {
  if (rope.dimensions == 0) return kNoSlot;
  std::vector<float> divisors;
  const uint32_t context = options.context != 0 ? options.context : model.trained_context;
  const bool is_long = !rope.long_divisors.empty() && context > rope.original_context;
  const std::string_view name = is_long ? rope.long_divisors : rope.divisors;
  if (!name.empty()) {
    const uint32_t pairs = rope.dimensions / 2;
    divisors = tensors.optional_divisors(name, std::max(pairs, rope.num_divisors));
    if (!divisors.empty()) divisors.resize(pairs);
  }
  RopeTable table = make_rope_table(rope, divisors);
  for (double& frequency : table.frequencies) frequency = turn.back ? -frequency : frequency;
  const Slot parts =
      table.parts.empty() ? kNoSlot : ops.constant("rope position parts", table.parts);
  return op::rope_angles(ops, ops.constant("rope frequencies", table.frequencies),
                         static_cast<float>(table.magnitude), parts, turn.offset);
}

std::string BuildContext::in_block(uint32_t block, std::string_view name) {
  return fmt::format("blk.{}.{}", block, name);
}

Slot BuildContext::rows_of_tokens(const std::string& name, const RowSource& table) {
  if (!options.rows_on_demand) return op::embed(ops, tensors.bind(name, table));
  const Slot rows = ops.input(name, TENON_ROWS_TOKENS, table.num_columns());
  demand_tables.push_back({rows, table});
  return rows;
}

Slot BuildContext::rows_of_ngrams(const std::string& name, const RowSource& table,
                                  const NgramLookup& ngrams) {
  if (!options.rows_on_demand) {
    return op::ngram_rows(ops, tensors.bind(name, table), ngrams);
  }
  const Slot rows = ops.input(name, TENON_ROWS_TOKENS, ngrams.heads.size() * table.num_columns());
  ops.look_back(static_cast<uint32_t>(ngrams.multipliers.size() - 1));
  demand_tables.push_back({rows, table, ngrams});
  return rows;
}

Slot BuildContext::linear(Slot x, const std::string& name, uint64_t rows, uint64_t columns,
                          Presence presence) {
  const Slot weight = tensors.weight(name + ".weight", {rows, columns}, TensorRole::Matrix);
  const Slot offset = bias(name, rows, presence);
  if (!tensors.has(name + ".scale")) return op::linear(ops, x, weight, offset);
  const Slot scale = tensors.weight(name + ".scale", {1}, TensorRole::Norm);
  const Slot y = op::mul(ops, op::linear(ops, x, weight), scale);
  return offset == kNoSlot ? y : op::add(ops, y, offset);
}

Slot BuildContext::bias(const std::string& name, uint64_t rows, Presence presence) {
  switch (presence) {
    case Presence::Absent:
      return kNoSlot;
    case Presence::Optional:
      return tensors.optional_weight(name + ".bias", {rows}, TensorRole::Bias);
    case Presence::Required:
      return tensors.weight(name + ".bias", {rows}, TensorRole::Bias);
  }
  return kNoSlot;
}

Slot BuildContext::layer_norm(Slot x, uint32_t layer, const NormSpec& spec) {
  if (spec.name.empty()) return x;
  return norm(x, in_layer(layer, spec.name), spec, model.width);
}

Slot BuildContext::norm(Slot x, const std::string& name, const NormSpec& spec, uint64_t columns,
                        uint32_t segment) {
  if (spec.kind == NormKind::RmsUnweighted) {
    return op::rms_norm(ops, x, kNoSlot, spec.epsilon, segment);
  }
  if (spec.kind == NormKind::LayerUnweighted) {
    return op::layer_norm(ops, x, kNoSlot, kNoSlot, spec.epsilon, segment);
  }
  const Slot weight = tensors.weight(name + std::string(spec.suffix), {columns}, TensorRole::Norm);
  if (spec.kind == NormKind::Rms) return op::rms_norm(ops, x, weight, spec.epsilon, segment);
  const Presence biased = spec.kind == NormKind::Layer ? Presence::Required : Presence::Absent;
  return op::layer_norm(ops, x, weight, bias(name, columns, biased), spec.epsilon, segment);
}

Slot BuildContext::wanted_rows(uint32_t layer, Slot x) {
  return is_last(layer) && !model.pooling ? op::gather_rows(ops, x) : x;
}

Slot BuildContext::scaled(Slot x, float factor) {
  return factor == 1.0f ? x : op::scale(ops, x, factor);
}

Slot BuildContext::clamped(Slot x, float limit) {
  if (limit == 0.0f || x == kNoSlot) return x;
  // Through a gate of ones: relu(min(1, limit)) clamp(x).
  const Slot ones = op::scale(ops, x, 0.0f, 1.0f);
  const Slot inside = op::glu(ops, {.activation = TENON_ACTIVATION_RELU, .limit = limit}, ones, x);
  return scaled(inside, 1.0f / std::min(1.0f, limit));
}

}  // namespace tenon
