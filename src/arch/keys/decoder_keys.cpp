// Keys of most decoders, with ranges and consistency checks.
#include "arch/keys/decoder_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "arch/blocks/hyper_connection.h"
#include "arch/blocks/latent_attention.h"
#include "arch/blocks/row_head.h"
#include "arch/keys/activation_key.h"
#include "base/error.h"

namespace tenon {
namespace {

struct HeadCounts {
  std::vector<uint32_t> heads;     // [layers]
  std::vector<uint32_t> kv_heads;  // [layers], each divides its heads
};

HeadCounts read_head_counts(const Keys& keys, uint32_t layers, bool hybrid) {
  const uint32_t least = hybrid ? 0 : 1;
  HeadCounts counts;
  counts.heads = keys.counts("attention.head_count", layers, least, SpecLimits::kHeads);
  counts.kv_heads =
      keys.counts_or("attention.head_count_kv", counts.heads, least, SpecLimits::kHeads);
  for (uint32_t layer = 0; layer < layers; ++layer) {
    const uint32_t heads = counts.heads[layer];
    const uint32_t kv_heads = counts.kv_heads[layer];
    if (kv_heads == 0) counts.heads[layer] = 0;
    if (heads == 0 || kv_heads == 0 || heads % kv_heads == 0) continue;
    keys.refuse(Code::Format, "attention.head_count_kv",
                "is {}, which does not divide the {} heads of \"{}\"", kv_heads, heads,
                keys.key("attention.head_count"));
  }
  return counts;
}

/// Epsilon of the model's norms. Some files use the other kind's key: configurations call both
/// norm_eps.
float read_norm_epsilon(const Keys& keys, bool is_rms) {
  const char* key = "attention.layer_norm_epsilon";
  const char* other = "attention.layer_norm_rms_epsilon";
  if (is_rms) std::swap(key, other);
  if (!keys.contains(key) && keys.contains(other)) key = other;
  return static_cast<float>(keys.number(key, SpecLimits::kEpsilon, 1.0));
}

/// Reads the sizes of a head; the default is an equal share of the width.
void read_head_sizes(const Keys& keys, uint32_t width, AttentionSpec& attention) {
  for (const char* length : {"attention.key_length", "attention.value_length"}) {
    if (keys.contains(length) || width % attention.heads == 0) continue;
    keys.refuse(Code::Format, "embedding_length",
                "is {}, which {} heads do not divide, and there is no \"{}\"", width,
                attention.heads, keys.key(length));
  }
  const uint32_t share = width / attention.heads;
  attention.key_dim = keys.count_or("attention.key_length", share, 1, SpecLimits::kHeadDim);
  attention.value_dim = keys.count_or("attention.value_length", share, 1, SpecLimits::kHeadDim);
  const uint64_t most = std::max(attention.key_dim, attention.value_dim);
  if (most * attention.heads > SpecLimits::kHeadValues) {
    keys.refuse(Code::Format, "attention.head_count", "is {}: {} values of heads, more than {}",
                attention.heads, most * attention.heads, SpecLimits::kHeadValues);
  }
  const double dim = keys.number_or("attention.query_scalar", attention.key_dim, 1e-6, 1e6);
  attention.scale = static_cast<float>(1.0 / std::sqrt(dim));
}

RopeScaling read_rope_scaling(const Keys& keys, bool has_factor, bool longrope) {
  constexpr std::pair<std::string_view, RopeScaling> kKnown[] = {
      {"none", RopeScaling::None}, {"linear", RopeScaling::Linear}, {"yarn", RopeScaling::Yarn}};
  // Files older than this key give only a factor.
  const std::string_view type = keys.text_or("rope.scaling.type", has_factor ? "linear" : "none");
  for (const auto& [name, scaling] : kKnown) {
    if (type == name) return scaling;
  }
  if (longrope && type == "longrope") return RopeScaling::None;  // the divisors contain the scaling
  keys.refuse(Code::Unsupported, "rope.scaling.type", "is \"{}\"; known are none, linear, yarn{}",
              type.substr(0, 64), longrope ? ", longrope" : "");
}

/// Reads expert_gating_func: how the router's logits become weights.
void read_gating(const Keys& keys, bool sigmoid, ExpertSpec& experts) {
  // Values as in llama.cpp: 1 is softmax, 0 equals a missing key.
  constexpr uint32_t kSigmoid = 2, kSoftmaxOfChosen = 3, kSqrtSoftplus = 4;
  const uint32_t gating = keys.count_or("expert_gating_func", 0, 0, UINT32_MAX);
  experts.sigmoid = gating == 0 ? sigmoid : gating == kSigmoid;
  experts.sqrt_softplus = gating == kSqrtSoftplus;
  if (gating == kSoftmaxOfChosen) {
    experts.normalised = true;
  } else if (gating > kSqrtSoftplus) {
    keys.refuse(Code::Unsupported, "expert_gating_func",
                "is {}; known are 1 (softmax), 2 (sigmoid), 3 (softmax of the chosen), "
                "4 (square root of softplus)",
                gating);
  }
}

/// Reads expert_group_count and the number of groups that a token uses.
void read_groups(const Keys& keys, ExpertSpec& experts) {
  experts.groups = std::max(1u, keys.count_or("expert_group_count", 1, 0, SpecLimits::kExperts));
  experts.groups_used =
      std::max(1u, keys.count_or("expert_group_used_count", experts.groups, 0, experts.groups));
  const uint32_t size = experts.count / experts.groups;
  if (experts.count % experts.groups == 0 && uint64_t{size} * experts.groups_used >= experts.used &&
      (experts.groups == 1 || size >= 2)) {
    return;
  }
  keys.refuse(Code::Format, "expert_group_count",
              "is {}: {} experts do not form such groups, {} of which have {} for a token",
              experts.groups, experts.count, experts.groups_used, experts.used);
}

}  // namespace

RopeSpec read_rope(const Keys& keys, const DecoderKind& kind, uint32_t key_dim,
                   uint32_t trained_context) {
  RopeSpec rope;
  // Folders keep the order of rows that GGUF files of some architectures change.
  const bool halves = keys.flag("rope.halves").value_or(false);
  rope.style = halves ? uint32_t{TENON_ROPE_HALVES} : kind.rope_style;
  if (kind.may_be_unrotated && keys.count_or("rope.dimension_count", 1, 0, UINT32_MAX) == 0) {
    return rope;
  }
  rope.dimensions = keys.count_or("rope.dimension_count", key_dim, 2, SpecLimits::kHeadDim);
  if (rope.dimensions > key_dim || rope.dimensions % 2 != 0) {
    keys.refuse(Code::Format, "rope.dimension_count",
                "{} {}, not an even number of rotated values up to the {} of a head",
                keys.contains("rope.dimension_count") ? "is" : "is missing and stands for",
                rope.dimensions, key_dim);
  }
  rope.theta = keys.number_or("rope.freq_base", 10000.0, 2.0, 1e15);
  const bool has_factor = keys.contains("rope.scaling.factor");
  const std::string_view factor_key = has_factor ? "rope.scaling.factor" : "rope.scale_linear";
  rope.factor = keys.number_or(factor_key, 1.0, 0.0, 1e6);
  if (rope.factor == 0.0) rope.factor = 1.0;  // occurs, and means that nothing is scaled
  if (rope.factor < 1e-3) {
    keys.refuse(Code::Format, factor_key, "is {}, not 0 or in 0.001..1000000", rope.factor);
  }
  rope.scaling =
      read_rope_scaling(keys, has_factor || keys.contains("rope.scale_linear"), kind.longrope);
  rope.magnitude = keys.number_or("rope.scaling.attn_factor", 1.0, 1e-6, 1e3);
  if (rope.scaling != RopeScaling::Yarn) return rope;
  rope.original_context = keys.count_or("rope.scaling.original_context_length", trained_context, 1,
                                        SpecLimits::kPositions);
  rope.beta_fast = keys.number_or("rope.scaling.yarn_beta_fast", 32.0, 1e-3, 1e6);
  rope.beta_slow = keys.number_or("rope.scaling.yarn_beta_slow", 1.0, 1e-3, 1e6);
  // A negative number means "not set".
  const double extrapolation = keys.number_or("rope.scaling.yarn_ext_factor", -1.0, -1.0, 1.0);
  rope.extrapolation = extrapolation < 0.0 ? 1.0 : extrapolation;
  // `truncate` in configurations; no converter writes it.
  rope.whole_pairs = keys.flag("rope.scaling.yarn_truncate").value_or(true);
  return rope;
}

void read_longrope(const Keys& keys, ModelSpec& model) {
  const uint32_t original = keys.count_or("rope.scaling.original_context_length",
                                          model.trained_context, 1, SpecLimits::kPositions);
  for (LayerSpec& layer : model.layers) {
    RopeSpec& rope = layer.attention.rope;
    rope.divisors = "rope_factors_short.weight";
    rope.long_divisors = "rope_factors_long.weight";
    rope.original_context = original;
  }
}

void read_window(const Keys& keys, ModelSpec& model) {
  const uint32_t window = keys.count_or("attention.sliding_window", 0, 0, SpecLimits::kPositions);
  // Folders say it for each layer.
  constexpr const char* kPattern = "attention.sliding_window_pattern";
  const auto layers = static_cast<uint32_t>(model.layers.size());
  std::vector<bool> windowed(layers, true);
  if (keys.is_list(kPattern)) windowed = keys.flags(kPattern, layers);
  for (uint32_t i = 0; i < layers; ++i) {
    if (windowed[i]) model.layers[i].attention.window = window;
  }
}

void read_windows(const Keys& keys, uint32_t period, SeesAll where, ModelSpec& model) {
  constexpr const char* kPattern = "attention.sliding_window_pattern";
  const auto layers = static_cast<uint32_t>(model.layers.size());
  const uint32_t window = keys.count_or("attention.sliding_window", 0, 0, SpecLimits::kPositions);
  std::vector<bool> windowed;
  if (keys.is_list(kPattern)) {
    windowed = keys.flags(kPattern, layers);
  } else {
    period = keys.count_or(kPattern, period, 1, SpecLimits::kLayers);
    const uint32_t sees_all = where == SeesAll::First ? 0 : period - 1;
    for (uint32_t i = 0; i < layers; ++i) windowed.push_back(i % period != sees_all);
  }
  for (uint32_t i = 0; i < layers; ++i) {
    if (windowed[i]) model.layers[i].attention.window = window;
  }
}

void read_window_rope(const Keys& keys, ModelSpec& model) {
  for (LayerSpec& layer : model.layers) {
    AttentionSpec& attention = layer.attention;
    if (attention.window == 0) continue;
    RopeSpec& rope = attention.rope;
    rope = rope.unscaled();
    rope.theta = keys.number_or("rope.freq_base_swa", rope.theta, 2.0, 1e15);
    rope.dimensions =
        keys.count_or("rope.dimension_count_swa", rope.dimensions, 2, attention.key_dim);
    if (rope.dimensions % 2 != 0) {
      keys.refuse(Code::Format, "rope.dimension_count_swa", "is {}, not an even number of values",
                  rope.dimensions);
    }
  }
}

void read_multipliers(const Keys& keys, const Multipliers& defaults, ModelSpec& model) {
  model.embedding_scale = keys.scale_or("embedding_scale", defaults.embedding);
  model.logit_scale = 1.0f / keys.scale_or("logit_scale", defaults.logit_divisor);
  const float residual = keys.scale_or("residual_scale", defaults.residual);
  for (LayerSpec& layer : model.layers) {
    layer.residual_scale = residual;
    layer.attention.scale = keys.scale_or("attention.scale", layer.attention.scale);
  }
}

void add_post_norms(ModelSpec& model) {
  for (LayerSpec& layer : model.layers) {
    const NormSpec norm = layer.attention_norm;
    layer.attention_post_norm = {"post_attention_norm", norm.kind, norm.epsilon};
    layer.feed_forward_post_norm = {"post_ffw_norm", norm.kind, norm.epsilon};
  }
}

void read_experts(const Keys& keys, const ExpertKind& kind, ModelSpec& model) {
  ExpertSpec experts;
  experts.count = keys.count_or("expert_count", 0, 0, SpecLimits::kExperts);
  if (experts.count == 0) {
    keys.refuse(Code::Format, "expert_count", "is 0 or missing, but \"{}\" has experts",
                keys.architecture());
  }
  experts.used = keys.count("expert_used_count", 1, SpecLimits::kExperts);
  if (experts.used > experts.count) {
    keys.refuse(Code::Format, "expert_used_count", "is {}, more than the {} experts of \"{}\"",
                experts.used, experts.count, keys.key("expert_count"));
  }
  experts.normalised = keys.flag("expert_weights_norm").value_or(kind.normalised);
  read_gating(keys, kind.sigmoid, experts);
  read_groups(keys, experts);
  experts.scale = keys.scale_or("expert_weights_scale", 1.0);
  experts.selection_bias = Presence::Optional;
  const auto layers = static_cast<uint32_t>(model.layers.size());
  for (uint32_t layer = keys.count_or("leading_dense_block_count", 0, 0, layers); layer < layers;
       ++layer) {
    FeedForwardSpec& feed_forward = model.layers[layer].feed_forward;
    if (feed_forward.width == 0) continue;
    feed_forward.experts = experts;
    feed_forward.experts.width =
        keys.count_or("expert_feed_forward_length", feed_forward.width, 1, SpecLimits::kWidth);
  }
}

void read_shared_expert(const Keys& keys, ModelSpec& model) {
  const uint32_t count = keys.count_or("expert_shared_count", 0, 0, SpecLimits::kExperts);
  for (LayerSpec& layer : model.layers) {
    ExpertSpec& experts = layer.feed_forward.experts;
    if (experts.count == 0) continue;
    const uint64_t width = uint64_t{count} * experts.width;
    if (width > SpecLimits::kWidth) {
      keys.refuse(Code::Format, "expert_shared_count", "is {}: {} wide in all, more than {}", count,
                  width, SpecLimits::kWidth);
    }
    experts.shared_width = keys.count_or("expert_shared_feed_forward_length",
                                         static_cast<uint32_t>(width), 0, SpecLimits::kWidth);
  }
}

void share_caches(const Keys& keys, ModelSpec& model) {
  const auto layers = static_cast<uint32_t>(model.layers.size());
  const uint32_t shared = keys.count_or("attention.shared_kv_layers", 0, 0, layers - 1);
  for (uint32_t i = layers - shared; i < layers; ++i) {
    AttentionSpec& attention = model.layers[i].attention;
    int32_t source = static_cast<int32_t>(layers - shared) - 1;
    while (source >= 0 && (model.layers[static_cast<size_t>(source)].attention.window > 0) !=
                              (attention.window > 0)) {
      --source;
    }
    if (source < 0) {
      keys.refuse(Code::Format, "attention.shared_kv_layers",
                  "is {}, but no layer before those is of the kind of layer {}", shared, i);
    }
    const AttentionSpec& owner = model.layers[static_cast<size_t>(source)].attention;
    if (attention.heads % owner.kv_heads != 0 || attention.key_dim != owner.key_dim ||
        attention.value_dim != owner.value_dim) {
      keys.refuse(
          Code::Format, "attention.shared_kv_layers",
          "is {}, but layer {} cannot read the cache of layer {}: {} heads of {} and {} of {}",
          shared, i, source, attention.heads, attention.key_dim, owner.kv_heads, owner.key_dim);
    }
    attention.cache_of = source;
  }
}

void drop_missing_experts(const ModelFile& file, ModelSpec& model) {
  const std::vector<LayerSpec*> blocks = model.blocks();
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (file.find(fmt::format("blk.{}.ffn_gate_inp.weight", i)) == nullptr) {
      blocks[i]->feed_forward.experts = {};
    }
  }
}

void read_gate_limits(const Keys& keys, ModelSpec& model) {
  const auto layers = static_cast<uint32_t>(model.layers.size());
  const auto limits = [&](const char* name) {
    return keys.numbers_or(keys.key(name), 0.0, layers, 0.0, 1e6);
  };
  const std::vector<double> of_experts = limits("swiglu_clamp_exp");
  const std::vector<double> of_others = limits("swiglu_clamp_shexp");
  for (uint32_t i = 0; i < layers; ++i) {
    FeedForwardSpec& feed_forward = model.layers[i].feed_forward;
    feed_forward.experts.gate.limit = static_cast<float>(of_experts[i]);
    feed_forward.gate.limit = static_cast<float>(of_others[i]);
    feed_forward.experts.gate.limit_after = feed_forward.gate.limit_after = true;
  }
}

void read_early_gate_limits(const Keys& keys, ModelSpec& model) {
  read_gate_limits(keys, model);
  for (LayerSpec& layer : model.layers) {
    FeedForwardSpec& feed_forward = layer.feed_forward;
    feed_forward.experts.gate.limit_after = feed_forward.gate.limit_after = false;
    if (keys.contains("swiglu_clamp_shexp")) continue;
    feed_forward.gate.limit = feed_forward.experts.gate.limit;
  }
}

void read_latent_attention(const Keys& keys, ModelSpec& model) {
  LatentSpec latent;
  latent.rank = keys.count("attention.kv_lora_rank", 1, SpecLimits::kHeadDim);
  latent.query_rank = keys.count_or("attention.q_lora_rank", 0, 0, SpecLimits::kWidth);
  latent.rope_dim = keys.count("rope.dimension_count", 0, SpecLimits::kHeadDim);
  latent.fused = !keys.contains("attention.key_length_mla");
  const char* key_length = latent.fused ? "attention.key_length" : "attention.key_length_mla";
  const uint32_t key_dim = keys.count(key_length, 1, SpecLimits::kHeadDim);
  if (key_dim <= latent.rope_dim) {
    keys.refuse(Code::Format, key_length, "is {}, not more than the {} values that are rotated",
                key_dim, latent.rope_dim);
  }
  const double multiplier = keys.number_or("rope.scaling.yarn_log_multiplier", 0.0, 0.0, 1e3);
  for (LayerSpec& layer : model.layers) {
    AttentionSpec& attention = layer.attention;
    if (attention.heads == 0) continue;
    attention.specs.set(latent);
    attention.key_dim = key_dim;
    // Files with fused matrices may lack it: read_decoder() has set an equal share then.
    if (!latent.fused) {
      attention.value_dim = keys.count("attention.value_length_mla", 1, SpecLimits::kHeadDim);
    }
    double scale = 1.0 / std::sqrt(static_cast<double>(key_dim));
    RopeSpec& rope = attention.rope;
    if (rope.scaling == RopeScaling::Yarn && rope.factor > 1.0 && multiplier > 0.0) {
      rope.attention_factor = 1.0;
      scale *= std::pow(1.0 + multiplier * std::log(rope.factor), 2.0);
    }
    attention.scale = static_cast<float>(scale);
  }
}

void read_qkv_clamp(const Keys& keys, ModelSpec& model) {
  // Files of models without a clamp may have 0 or a negative number.
  const double clamp = keys.number_or("attention.clamp_kqv", 0.0, -1e6, 1e6);
  if (clamp > 0.0 && clamp < 1e-3) {
    keys.refuse(Code::Format, "attention.clamp_kqv", "is {}, not 0 or in 0.001..1000000", clamp);
  }
  for (LayerSpec& layer : model.layers) {
    layer.attention.qkv_clamp = static_cast<float>(std::max(clamp, 0.0));
  }
}

void read_query_scale(const Keys& keys, ModelSpec& model) {
  PositionScale scale;
  scale.scale = static_cast<float>(keys.number_or("attention.temperature_scale", 0.0, 0.0, 1e3));
  const uint32_t original = keys.count_or("rope.scaling.original_context_length",
                                          model.trained_context, 1, SpecLimits::kPositions);
  scale.length = keys.count_or("attention.temperature_length", original, 1, SpecLimits::kPositions);
  for (LayerSpec& layer : model.layers) layer.attention.query_scale = scale;
}

void read_mixed_streams(const Keys& keys, ModelSpec& model) {
  constexpr float kMagnitude = 2.0f;  // as published, arXiv 2512.24880
  model.specs.set(HyperConnectionSpec{
      .streams = keys.count("hyper_connection.count", 1, 16),
      .epsilon = static_cast<float>(keys.number("hyper_connection.epsilon", 0.0, 1.0)),
      .magnitude = kMagnitude,
      .iterations = keys.count("hyper_connection.sinkhorn_iterations", 1, 1000)});
}

void set_plain_gelu(const Keys& keys, LayerSpec& layer, uint32_t fallback) {
  layer.feed_forward.kind = FeedForwardKind::Plain;
  layer.feed_forward.activation = read_activation(keys, fallback);
  layer.feed_forward.bias = Presence::Required;
}

void make_encoder(const Keys& keys, uint32_t fallback, ModelSpec& model) {
  model.pooling = read_pooling(keys, fallback);
  for (LayerSpec& layer : model.layers) layer.attention.mask = TENON_MASK_SYMMETRIC;
}

void drop_prediction_layers(const Keys& keys, ModelSpec& model) {
  part_prediction_layers(keys, model);
  model.prediction.layers.clear();
}

void part_prediction_layers(const Keys& keys, ModelSpec& model) {
  const auto blocks = static_cast<uint32_t>(model.layers.size());
  model.unused_blocks = keys.count_or("nextn_predict_layers", 0, 0, blocks - 1);
  const auto first = model.layers.end() - model.unused_blocks;
  model.prediction.layers.assign(first, model.layers.end());
  model.layers.erase(first, model.layers.end());
}

ModelSpec read_decoder(const Keys& keys, const DecoderKind& kind) {
  ModelSpec model;
  model.architecture = keys.architecture();
  const uint32_t layers = keys.count("block_count", 1, SpecLimits::kLayers);
  model.width = keys.count("embedding_length", 1, SpecLimits::kWidth);
  model.trained_context = keys.count("context_length", 1, SpecLimits::kPositions);
  const HeadCounts heads = read_head_counts(keys, layers, kind.hybrid);
  const bool of_experts =
      !keys.contains("feed_forward_length") && keys.contains("expert_feed_forward_length");
  const std::vector<uint32_t> widths =
      keys.counts(of_experts ? "expert_feed_forward_length" : "feed_forward_length", layers,
                  kind.hybrid ? 0 : 1, SpecLimits::kWidth);
  const bool is_rms = kind.norm == NormKind::Rms || kind.norm == NormKind::RmsUnweighted;
  const float epsilon = read_norm_epsilon(keys, is_rms);
  model.output_norm = {"output_norm", kind.norm, epsilon};
  for (uint32_t i = 0; i < layers; ++i) {
    LayerSpec layer;
    layer.attention_norm = {"attn_norm", kind.norm, epsilon};
    layer.feed_forward_norm = {"ffn_norm", kind.norm, epsilon};
    layer.feed_forward.width = widths[i];
    if (heads.heads[i] > 0) {
      layer.attention.heads = heads.heads[i];
      layer.attention.kv_heads = heads.kv_heads[i];
      layer.attention.qk_norm_epsilon = epsilon;
      read_head_sizes(keys, model.width, layer.attention);
      if (kind.rotates) {
        layer.attention.rope =
            read_rope(keys, kind, layer.attention.key_dim, model.trained_context);
      }
    }
    model.layers.push_back(layer);
  }
  return model;
}

}  // namespace tenon
