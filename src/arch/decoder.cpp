// The shared decoder, written in the order in which a token passes through it.
#include "arch/decoder.h"

#include <fmt/core.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {
namespace {

class Decoder {
 public:
  Decoder(const HyperParameters& model, const DecoderTraits& traits, const ProgramOptions& options,
          TensorBinder& tensors, ProgramBuilder& builder)
      : model_(model), traits_(traits), options_(options), tensors_(tensors), builder_(builder) {}

  /// tokens -> logits [R, vocab]
  Slot build() {
    const Slot table = tensors_.matrix("token_embd.weight", model_.vocab, model_.width);
    group_ = builder_.kv_group({model_.layers, model_.kv_heads, model_.key_dim, model_.value_dim,
                                options_.cache_type, options_.block_tokens});
    build_rope();
    Slot x = builder_.embed(table);  // [T, width]
    for (uint32_t layer = 0; layer < model_.layers; ++layer) x = build_block(x, layer);
    x = builder_.rms_norm(x, tensors_.vector("output_norm.weight", model_.width), model_.epsilon);
    // Without a matrix of its own, the output uses the embedding ("tied").
    const Slot own = tensors_.optional_matrix("output.weight", model_.vocab, model_.width);
    const Slot bias = vector(traits_.output_bias, "output.bias", model_.vocab);
    return builder_.linear(x, own == kNoSlot ? table : own, bias);
  }

 private:
  void build_rope() {
    const std::vector<float> divisors =
        tensors_.optional_divisors("rope_freqs.weight", model_.rope.dimensions / 2);
    const RopeTable table = make_rope_table(model_.rope, divisors);
    angles_ = builder_.rope_angles(builder_.constant("rope frequencies", table.frequencies),
                                   static_cast<float>(table.magnitude));
  }

  /// x [T, width] -> [T, width]; [R, width] behind the last layer, where only the wanted rows go
  /// on.
  Slot build_block(Slot x, uint32_t layer) {
    Slot attended = build_attention(x, layer);  // [T, heads * value_dim]
    if (layer + 1 == model_.layers) {
      attended = builder_.gather_rows(attended);
      x = builder_.gather_rows(x);
    }
    x = builder_.add(
        x, linear(attended, layer, "attn_output", model_.width,
                  uint64_t{model_.heads} * model_.value_dim, traits_.attention_output_bias));
    return builder_.add(x, build_feed_forward(x, layer));
  }

  Slot build_attention(Slot x, uint32_t layer) {
    const uint64_t query_width = uint64_t{model_.heads} * model_.key_dim;
    const uint64_t key_width = uint64_t{model_.kv_heads} * model_.key_dim;
    const uint64_t value_width = uint64_t{model_.kv_heads} * model_.value_dim;
    const Slot normed = norm(x, layer, "attn_norm", model_.width, 0);
    Slot q = linear(normed, layer, "attn_q", query_width, model_.width, traits_.qkv_bias);
    Slot k = linear(normed, layer, "attn_k", key_width, model_.width, traits_.qkv_bias);
    const Slot v = linear(normed, layer, "attn_v", value_width, model_.width, traits_.qkv_bias);
    if (traits_.qk_norm == Presence::Required) {
      q = norm(q, layer, "attn_q_norm", model_.key_dim, model_.key_dim);
      k = norm(k, layer, "attn_k_norm", model_.key_dim, model_.key_dim);
    }
    q = builder_.rope(q, angles_, traits_.rope_style, model_.key_dim);
    k = builder_.rope(k, angles_, traits_.rope_style, model_.key_dim);
    builder_.kv_write(k, v, group_, layer);
    AttentionOptions attention;
    attention.group = group_;
    attention.layer = layer;
    attention.heads = model_.heads;
    attention.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(model_.key_dim)));
    attention.window = model_.window;
    return builder_.attention(q, attention);
  }

  Slot build_feed_forward(Slot x, uint32_t layer) {
    const Slot normed = norm(x, layer, "ffn_norm", model_.width, 0);
    if (model_.experts.count > 0) return build_experts(normed, layer);
    const Presence bias = traits_.feed_forward_bias;
    const Slot gate = linear(normed, layer, "ffn_gate", model_.feed_forward, model_.width, bias);
    const Slot up = linear(normed, layer, "ffn_up", model_.feed_forward, model_.width, bias);
    const Slot hidden = builder_.glu(TENON_ACTIVATION_SILU, gate, up);
    return linear(hidden, layer, "ffn_down", model_.width, model_.feed_forward, bias);
  }

  /// normed [., width] -> what the chosen experts of each row make of it, [., width].
  Slot build_experts(Slot normed, uint32_t layer) {
    const ExpertParameters& experts = model_.experts;
    const Slot shared = traits_.shared_expert ? build_shared_expert(normed, layer) : kNoSlot;
    const Slot logits =
        linear(normed, layer, "ffn_gate_inp", experts.count, model_.width, Presence::Absent);
    const bool normalised = experts.normalised.value_or(traits_.experts_normalised);
    const Slot routes = builder_.moe_route(
        logits, {experts.used, normalised ? TENON_MOE_SOFTMAX_CHOSEN : TENON_MOE_SOFTMAX_ALL,
                 experts.scale});
    const auto weight = [&](std::string_view name, uint64_t rows, uint64_t columns) {
      return tensors_.expert_matrices(fmt::format("blk.{}.{}.weight", layer, name), experts.count,
                                      rows, columns);
    };
    const Slot gate = builder_.moe_linear(
        normed, routes, weight("ffn_gate_exps", experts.feed_forward, model_.width), experts.count);
    const Slot up = builder_.moe_linear(
        normed, routes, weight("ffn_up_exps", experts.feed_forward, model_.width), experts.count);
    const Slot sum = builder_.moe_linear_sum(
        builder_.glu(TENON_ACTIVATION_SILU, gate, up), routes,
        weight("ffn_down_exps", model_.width, experts.feed_forward), experts.count);
    return shared == kNoSlot ? sum : builder_.add(sum, shared);
  }

  Slot build_shared_expert(Slot normed, uint32_t layer) {
    const uint64_t columns = model_.experts.shared_feed_forward;
    const Slot gate =
        linear(normed, layer, "ffn_gate_shexp", columns, model_.width, Presence::Absent);
    const Slot up = linear(normed, layer, "ffn_up_shexp", columns, model_.width, Presence::Absent);
    const Slot hidden = builder_.glu(TENON_ACTIVATION_SILU, gate, up);
    const Slot share =
        linear(normed, layer, "ffn_gate_inp_shexp", 1, model_.width, Presence::Absent);
    return builder_.sigmoid_gate(
        linear(hidden, layer, "ffn_down_shexp", model_.width, columns, Presence::Absent), share);
  }

  /// RMS norm over whole rows (segment 0) or over segments of the size of its weight.
  Slot norm(Slot x, uint32_t layer, std::string_view name, uint64_t columns, uint32_t segment) {
    const Slot weight = tensors_.vector(fmt::format("blk.{}.{}.weight", layer, name), columns);
    return builder_.rms_norm(x, weight, model_.epsilon, segment);
  }

  Slot linear(Slot x, uint32_t layer, std::string_view name, uint64_t rows, uint64_t columns,
              Presence bias) {
    const Slot weight =
        tensors_.matrix(fmt::format("blk.{}.{}.weight", layer, name), rows, columns);
    return builder_.linear(x, weight,
                           vector(bias, fmt::format("blk.{}.{}.bias", layer, name), rows));
  }

  Slot vector(Presence presence, std::string_view name, uint64_t columns) {
    switch (presence) {
      case Presence::Absent:
        return kNoSlot;
      case Presence::Optional:
        return tensors_.optional_vector(name, columns);
      case Presence::Required:
        return tensors_.vector(name, columns);
    }
    return kNoSlot;
  }

  const HyperParameters& model_;
  const DecoderTraits& traits_;
  const ProgramOptions& options_;
  TensorBinder& tensors_;
  ProgramBuilder& builder_;
  uint32_t group_ = 0;
  Slot angles_ = kNoSlot;
};

}  // namespace

Slot build_decoder(const HyperParameters& model, const DecoderTraits& traits,
                   const ProgramOptions& options, TensorBinder& tensors, ProgramBuilder& builder) {
  return Decoder(model, traits, options, tensors, builder).build();
}

}  // namespace tenon
