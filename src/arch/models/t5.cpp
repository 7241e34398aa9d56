// T5, Flan-T5, mT5, UMT5 and encoders of their kind (general.architecture "t5", "t5encoder").
#include <cmath>
#include <string>
#include <vector>

#include "arch/architecture.h"
#include "arch/blocks/row_head.h"
#include "program/operations.h"

namespace tenon {
namespace {

constexpr uint32_t kMaxDistance = 128;  // from here on all positions share a bucket

struct RelativeBiasSpec {
  uint32_t buckets = 0;  ///< rows of the table of biases by distance
};

/// Common to both sides: unscaled scores, and a table of biases by distance instead of positions.
ModelSpec read_t5_side(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {});
  // Half of an encoder's buckets are for one side; the last bucket of a side begins before
  // kMaxDistance.
  const uint32_t buckets = keys.count("attention.relative_buckets_count", 4, 2 * kMaxDistance - 2);
  if (buckets % 2 != 0) {
    keys.refuse(Code::Format, "attention.relative_buckets_count", "is {}, not even", buckets);
  }
  model.specs.set(RelativeBiasSpec{buckets});
  for (LayerSpec& layer : model.layers) {
    layer.attention.rope = {};
    layer.attention.scale = 1.0f;
    layer.feed_forward.activation = TENON_ACTIVATION_GELU_TANH;
  }
  for (const LayerSpec& layer : model.layers) {
    const AttentionSpec& first = model.layers.front().attention;
    if (layer.attention.heads == first.heads && layer.attention.kv_heads == first.kv_heads)
      continue;
    keys.refuse(Code::Unsupported, "attention.head_count",
                "differs by layer, but all share the table of the first");
  }
  return model;
}

/// Raffel et al. 2020, arXiv 1910.10683: an encoder, and a decoder that attends to its result.
ModelSpec read_t5(const Keys& keys) {
  ModelSpec model = read_t5_side(keys);
  model.output_norm.name = "dec.output_norm";
  model.encoder_layers = model.layers;
  const uint32_t decoder_layers = keys.count_or(
      "decoder_block_count", static_cast<uint32_t>(model.layers.size()), 1, SpecLimits::kLayers);
  model.layers.resize(decoder_layers, model.layers.front());
  for (LayerSpec& layer : model.encoder_layers) layer.attention.mask = TENON_MASK_SYMMETRIC;
  return model;
}

/// With tied embeddings, logits are scaled by 1 / sqrt(width), as in training and in
/// `transformers`; llama.cpp omits it. The key is that of configurations, which no converter
/// writes.
void adapt_t5(const ModelFile& file, ModelSpec& model) {
  const bool is_tied = file.find("output.weight") == nullptr;
  if (!Keys(file.metadata()).flag("scale_decoder_outputs").value_or(is_tied)) return;
  model.logit_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(model.width)));
}

/// The encoder alone (Ni et al. 2021, arXiv 2108.08877): a row per text.
ModelSpec read_t5encoder(const Keys& keys) {
  ModelSpec model = read_t5_side(keys);
  model.output_norm.name = "enc.output_norm";
  make_encoder(keys, TENON_POOL_MEAN, model);
  return model;
}

/// Blocks of one side, with tensors named "enc.blk.N." or "dec.blk.N.".
class T5Side {
 public:
  T5Side(BuildContext& context, const char* side)
      : context_(context), ops_(context.ops), side_(side) {
    const std::string table = name(0, "attn_rel_b.weight");
    first_bias_ = context.tensors.bind(
        table, context.tensors.tensor(table, bias_shape(), TensorRole::Norm).decoded());
  }

  Slot self_attention(uint32_t layer, Slot x) {
    const AttentionSpec& spec = context_.layer(layer).attention;
    const Slot normed = norm(layer, "attn_norm", x);
    const Slot query = project(layer, "attn_q", normed, spec.heads * spec.key_dim);
    const BuildContext::CachePlace cache = context_.cache(layer);
    const Slot key = project(layer, "attn_k", normed, spec.kv_heads * spec.key_dim);
    const Slot value = project(layer, "attn_v", normed, spec.kv_heads * spec.value_dim);
    op::kv_write(ops_, key, value, cache.group, cache.layer);
    AttentionOptions options = options_of(layer, cache);
    options.mask = spec.mask;
    options.bias = TENON_BIAS_RELATIVE;
    options.bias_values = bias_of(layer);
    options.two_sided = spec.mask == TENON_MASK_SYMMETRIC;
    options.max_distance = kMaxDistance;
    return op::add(ops_, x, project_back(layer, "attn_o", op::attention(ops_, query, options)));
  }

  Slot cross_attention(uint32_t layer, Slot x, uint32_t group) {
    const AttentionSpec& spec = context_.layer(layer).attention;
    const Slot query = project(layer, "cross_attn_q", norm(layer, "cross_attn_norm", x),
                               spec.heads * spec.key_dim);
    AttentionOptions options = options_of(layer, {group, layer});
    options.mask = TENON_MASK_CROSS;
    return op::add(ops_, x,
                   project_back(layer, "cross_attn_o", op::attention(ops_, query, options)));
  }

  /// gelu(gate) up with "ffn_gate", else relu(up).
  Slot feed_forward(uint32_t layer, Slot x) {
    const uint64_t width = context_.model.width;
    const uint32_t inner = context_.layer(layer).feed_forward.width;
    const Slot normed = norm(layer, "ffn_norm", x);
    const Slot up = project(layer, "ffn_up", normed, inner);
    const Slot gate = context_.tensors.optional_weight(name(layer, "ffn_gate.weight"),
                                                       {inner, width}, TensorRole::Matrix);
    const Slot hidden = gate == kNoSlot ? op::activate(ops_, TENON_ACTIVATION_RELU, up)
                                        : op::glu(ops_, TENON_ACTIVATION_GELU_TANH,
                                                  op::linear(ops_, normed, gate), up);
    return op::add(ops_, x, context_.linear(hidden, name(layer, "ffn_down"), width, inner));
  }

 private:
  [[nodiscard]] std::vector<uint64_t> bias_shape() const {
    return {context_.model.specs.get<RelativeBiasSpec>().buckets,
            context_.layer(0).attention.heads};
  }
  /// Layers without a table share that of the first layer; only UMT5 has one per layer.
  Slot bias_of(uint32_t layer) {
    if (layer == 0) return first_bias_;
    const std::string table = name(layer, "attn_rel_b.weight");
    const auto own = context_.tensors.optional_tensor(table, bias_shape(), TensorRole::Norm);
    return own ? context_.tensors.bind(table, own->decoded()) : first_bias_;
  }
  Slot norm(uint32_t layer, const char* tensor, Slot x) {
    const NormSpec& spec = context_.model.output_norm;
    return context_.norm(x, name(layer, tensor), spec, context_.model.width);
  }
  [[nodiscard]] std::string name(uint32_t layer, const char* tensor) const {
    return std::string(side_) + "." + context_.in_layer(layer, tensor);
  }
  Slot project(uint32_t layer, const char* tensor, Slot x, uint64_t rows) {
    return context_.linear(x, name(layer, tensor), rows, context_.model.width);
  }
  Slot project_back(uint32_t layer, const char* tensor, Slot x) {
    const AttentionSpec& spec = context_.layer(layer).attention;
    return context_.linear(x, name(layer, tensor), context_.model.width,
                           uint64_t{spec.heads} * spec.value_dim);
  }
  [[nodiscard]] AttentionOptions options_of(uint32_t layer,
                                            const BuildContext::CachePlace& cache) const {
    const AttentionSpec& spec = context_.layer(layer).attention;
    AttentionOptions options;
    options.group = cache.group;
    options.layer = cache.layer;
    options.heads = spec.heads;
    options.scale = spec.scale;
    return options;
  }

  BuildContext& context_;
  ProgramBuilder& ops_;
  const char* side_;
  Slot first_bias_;
};

/// Writes the keys and values of the source text for a decoder layer, from the encoder's rows x.
void write_cross(BuildContext& context, uint32_t layer, Slot x,
                 const BuildContext::CachePlace& cache) {
  const AttentionSpec& spec = context.layer(0).attention;
  const std::string stem = "dec." + BuildContext::in_block(layer, "cross_attn_");
  const auto project = [&](const char* which, uint32_t columns) {
    return context.linear(x, stem + which, uint64_t{spec.kv_heads} * columns, context.model.width);
  };
  const Slot key = project("k", spec.key_dim);
  op::kv_write(context.ops, key, project("v", spec.value_dim), cache.group, cache.layer);
}

/// Adds the cache group that the encoder writes and the decoder reads: keys and values of the
/// source for each decoder layer.
uint32_t add_cross_group(BuildContext& context, size_t decoder_layers) {
  const AttentionSpec& spec = context.layer(0).attention;
  CacheGroup group;
  group.kind = TENON_CACHE_CROSS;
  group.layers = static_cast<uint32_t>(decoder_layers);
  group.kv_heads = spec.kv_heads;
  group.key_dim = spec.key_dim;
  group.value_dim = spec.value_dim;
  group.type = context.options.cross_type.value_or(context.options.cache_type);
  group.block_tokens = context.options.block_tokens;
  return context.ops.cache_group(group);
}

/// [T, width]: the encoder's last rows, normalised.
Slot encoder_rows(BuildContext& context) {
  T5Side encoder(context, "enc");
  Slot x = embedding(context);
  for (uint32_t layer = 0; layer < context.model.layers.size(); ++layer) {
    x = encoder.feed_forward(layer, encoder.self_attention(layer, x));
  }
  return context.norm(x, "enc.output_norm", context.model.output_norm, context.model.width);
}

/// Here the context's layers are those of the encoder, `encoder_layers` those of the decoder.
Slot build_t5_encoder(BuildContext& context) {
  const size_t decoder_layers = context.model.encoder_layers.size();
  const uint32_t group = add_cross_group(context, decoder_layers);
  const Slot x = encoder_rows(context);
  for (uint32_t layer = 0; layer < decoder_layers; ++layer) {
    write_cross(context, layer, x, {group, layer});
  }
  return op::pool(context.ops, x, TENON_POOL_MEAN);  // a step has a result
}

Slot build_t5(BuildContext& context) {
  const uint32_t group = add_cross_group(context, context.model.layers.size());
  T5Side decoder(context, "dec");
  Slot x = embedding(context);
  for (uint32_t layer = 0; layer < context.model.layers.size(); ++layer) {
    x = decoder.cross_attention(layer, decoder.self_attention(layer, x), group);
    x = decoder.feed_forward(layer, x);
  }
  return output_head(context, op::gather_rows(context.ops, x));
}

Slot build_t5encoder_rows(BuildContext& context) {
  return row_head(context, encoder_rows(context));
}

constexpr KeyValue kT5EncoderExample[] = {{"attention.relative_buckets_count", 16u}};
constexpr KeyValue kT5Example[] = {{"attention.relative_buckets_count", 16u},
                                   {"decoder_block_count", 2u}};

}  // namespace

extern constexpr Architecture kT5{.read = read_t5,
                                  .adapt = adapt_t5,
                                  .build = build_t5,
                                  .build_encoder = build_t5_encoder,
                                  .example = kT5Example};
extern constexpr Architecture kT5Encoder{
    .read = read_t5encoder, .build = build_t5encoder_rows, .example = kT5EncoderExample};

}  // namespace tenon
