// Operations of the blocks of a vision transformer.
#include <fmt/format.h>

#include <cmath>

#include "arch/towers/tower.h"
#include "program/operations.h"

namespace tenon {
namespace {

constexpr double kTowerTheta = 10000.0;

std::string in_tower(uint32_t layer, std::string_view name) {
  return fmt::format("v.blk.{}.{}", layer, name);
}

/// Angles of a patch: pair i turns by the row if it is in the first half of a head, else by the
/// column. Both halves have every second frequency, the first half the first.
Slot patch_angles(ProgramBuilder& ops, uint32_t head_dim) {
  std::vector<double> frequencies;
  std::vector<double> parts;
  const uint32_t pairs = head_dim / 2;
  for (uint32_t half = 0; half < 2; ++half) {
    for (uint32_t i = half; i < pairs; i += 2) {
      frequencies.push_back(std::pow(kTowerTheta, -2.0 * i / head_dim));
      parts.push_back(1.0 + half);
    }
  }
  return op::rope_angles(ops, ops.constant("tower frequencies", frequencies), 1.0f,
                         ops.constant("tower position parts", parts));
}

}  // namespace

Slot TowerBuilder::weight(const std::string& name, uint64_t columns) {
  return tensors_.weight(name, {columns}, TensorRole::Norm);
}

Slot TowerBuilder::linear(Slot x, const std::string& name, uint64_t rows) {
  const Slot matrix =
      tensors_.weight(name + ".weight", {rows, ops_.columns(x)}, TensorRole::Matrix);
  return op::linear(ops_, x, matrix,
                    tensors_.optional_weight(name + ".bias", {rows}, TensorRole::Bias));
}

Slot TowerBuilder::linear(Slot x, const std::string& name) {
  return linear(x, name, tensors_.rows_of(name + ".weight").value_or(1));
}

Slot TowerBuilder::layer_norm(Slot x, const std::string& name, float epsilon) {
  const uint64_t columns = ops_.columns(x);
  const Slot scale = weight(name + ".weight", columns);
  return op::layer_norm(ops_, x, scale, weight(name + ".bias", columns), epsilon);
}

Slot TowerBuilder::rms_norm(Slot x, const std::string& name, float epsilon) {
  return op::rms_norm(ops_, x, weight(name + ".weight", ops_.columns(x)), epsilon);
}

Slot TowerBuilder::norm(Slot x, const std::string& name) {
  return spec_.form->rms_norms ? rms_norm(x, name, spec_.epsilon)
                               : layer_norm(x, name, spec_.epsilon);
}

Slot TowerBuilder::scaled_by(Slot x, const std::string& name) {
  return op::mul(ops_, x, weight(name + ".weight", spec_.width));
}

Slot TowerBuilder::attention(Slot x, uint32_t layer, Slot angles) {
  const uint32_t head_dim = spec_.width / spec_.heads;
  Slot query = linear(x, in_tower(layer, "attn_q"), spec_.width);
  Slot key = linear(x, in_tower(layer, "attn_k"), spec_.width);
  const Slot value = linear(x, in_tower(layer, "attn_v"), spec_.width);
  if (angles != kNoSlot) {
    query = op::rope(ops_, query, angles, TENON_ROPE_ADJACENT, head_dim);
    key = op::rope(ops_, key, angles, TENON_ROPE_ADJACENT, head_dim);
  }
  AttentionOptions options;
  options.layer = layer;
  options.heads = spec_.heads;
  options.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim)));
  options.mask = TENON_MASK_SYMMETRIC;
  op::kv_write(ops_, key, value, options.group, options.layer);
  const Slot attended = op::attention(ops_, query, options);
  return linear(attended, in_tower(layer, "attn_out"), spec_.width);
}

Slot TowerBuilder::feed_forward(Slot x, uint32_t layer) {
  Slot hidden = linear(x, in_tower(layer, "ffn_up"), spec_.feed_forward);
  if (spec_.form->gated) {
    const Slot gate = linear(x, in_tower(layer, "ffn_gate"), spec_.feed_forward);
    hidden = op::glu(ops_, spec_.form->activation, gate, hidden);
  } else {
    hidden = op::activate(ops_, spec_.form->activation, hidden);
  }
  return linear(hidden, in_tower(layer, "ffn_down"), spec_.width);
}

Slot TowerBuilder::block(Slot x, uint32_t layer, Slot angles) {
  const auto scaled = [&](Slot branch, std::string_view name) {
    return spec_.form->layer_scales ? scaled_by(branch, in_tower(layer, name)) : branch;
  };
  const Slot attended = attention(norm(x, in_tower(layer, "ln1")), layer, angles);
  x = op::add(ops_, x, scaled(attended, "ls1"));
  const Slot fed = feed_forward(norm(x, in_tower(layer, "ln2")), layer);
  return op::add(ops_, x, scaled(fed, "ls2"));
}

Slot TowerBuilder::blocks(Slot patches, Slot added) {
  const TowerForm& form = *spec_.form;
  const Slot filters = tensors_.weight("v.patch_embd.weight", {spec_.width, spec_.patch_values()},
                                       TensorRole::Matrix);
  const Slot angles = form.rope ? patch_angles(ops_, spec_.width / spec_.heads) : kNoSlot;
  Slot x = op::linear(ops_, patches, filters);
  if (added != kNoSlot) x = op::add(ops_, x, added);
  if (!form.first_norm.empty()) x = norm(x, std::string(form.first_norm));
  for (uint32_t layer = 0; layer < spec_.layers; ++layer) x = block(x, layer, angles);
  return form.last_norm.empty() ? x : norm(x, std::string(form.last_norm));
}

}  // namespace tenon
