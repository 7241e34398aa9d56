// Gemma 3n, its text model (general.architecture "gemma3n").
#include <cmath>
#include <limits>
#include <string>

#include "arch/architecture.h"
#include "arch/blocks/feed_forward.h"
#include "arch/blocks/layer_embedding.h"
#include "arch/blocks/mixer.h"
#include "program/operations.h"

namespace tenon {
namespace {

/// Epsilon of the magnitudes to which streams are scaled.
constexpr float kGemma3nEpsilon = 1e-10f;

/// Residual streams, of which only one passes through the blocks.
struct AltUpSpec {
  uint32_t streams = 1;
  uint32_t active = 0;  ///< index of that stream
};

/// Reads activation_sparsity_scale: minus infinity keeps all of a gate.
void read_gate_cuts(const Keys& keys, ModelSpec& model) {
  const auto layers = static_cast<uint32_t>(model.layers.size());
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  const std::vector<double> cuts =
      keys.numbers_or(keys.key("activation_sparsity_scale"), kNone, layers, kNone, 10.0);
  for (uint32_t i = 0; i < layers; ++i) {
    if (std::isfinite(cuts[i])) {
      model.layers[i].feed_forward.gate_cut = static_cast<float>(cuts[i]);
    }
  }
}

/// Google DeepMind 2025 (as in models/gemma3n of `transformers`): several residual streams, of
/// which one is computed and the others are predicted and corrected (AltUp: Baykal et al. 2023,
/// arXiv 2301.13310), a low-rank matrix beside attention (LAuReL: Menghani et al. 2024, arXiv
/// 2411.07501), embeddings per layer, caches shared between layers, sparse gates.
ModelSpec read_gemma3n(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  add_post_norms(model);
  (void)keys.count("attention.sliding_window", 1, SpecLimits::kPositions);
  read_windows(keys, 5, SeesAll::Last, model);
  read_window_rope(keys, model);
  const bool has_window_theta = keys.contains("rope.freq_base_swa");
  for (LayerSpec& layer : model.layers) {
    layer.feed_forward.activation = TENON_ACTIVATION_GELU_TANH;
    AttentionSpec& attention = layer.attention;
    attention.qk_norm = QkNorm::EachHead;
    attention.value_norm = true;
    attention.scale = 1.0f;
    if (attention.window > 0 && !has_window_theta) attention.rope.theta = 10000.0;
  }
  share_caches(keys, model);
  read_gate_cuts(keys, model);
  model.embedding_scale = std::sqrt(static_cast<float>(model.width));
  model.logit_soft_cap = keys.scale_or("final_logit_softcapping", 30.0);
  const uint32_t streams = keys.count("altup.num_inputs", 2, 16);
  model.specs.set(AltUpSpec{streams, keys.count_or("altup.active_idx", 0, 0, streams - 1)});
  model.specs.set(
      LayerEmbeddingSpec{keys.count("embedding_length_per_layer_input", 1, SpecLimits::kWidth)});
  return model;
}

/// AltUp and LAuReL around the blocks of each layer. Streams are [., width].
class Gemma3n {
 public:
  explicit Gemma3n(BuildContext& context)
      : context_(context),
        ops_(context.ops),
        model_(context.model),
        altup_(context.model.specs.get<AltUpSpec>()),
        epsilon_(context.model.output_norm.epsilon) {}

  Slot build() {
    const Slot x = embedding(context_);
    const Slot embeddings = layer_embeddings(context_, x);
    Streams streams = expanded(x);
    for (uint32_t layer = 0; layer < model_.layers.size(); ++layer) {
      streams = layer_of(layer, streams, embeddings);
    }
    return output_head(context_, merged(streams));
  }

 private:
  using Streams = std::vector<Slot>;  // [streams]

  [[nodiscard]] std::string name(uint32_t layer, std::string_view tensor) const {
    return context_.in_layer(layer, tensor);
  }
  Slot norm(Slot x, uint32_t layer, std::string_view tensor) {
    return context_.layer_norm(x, layer, {tensor, NormKind::Rms, epsilon_});
  }

  /// Root mean square of each row, [., 1].
  Slot magnitude(Slot x) {
    const Slot square = op::mul(ops_, x, op::rms_norm(ops_, x, kNoSlot, kGemma3nEpsilon));
    return op::scale(ops_, op::sum_segments(ops_, square, model_.width),
                     1.0f / static_cast<float>(model_.width));
  }
  /// x times matrix `stream` - 1 of a tensor, scaled to a magnitude.
  Slot projected(const RowSource& matrices, const std::string& tensor, Slot x, uint32_t stream,
                 Slot magnitude) {
    const uint64_t width = model_.width;
    const Slot matrix = context_.tensors.bind(tensor + " " + std::to_string(stream),
                                              matrices.rows((stream - 1) * width, width));
    return op::mul(ops_, op::rms_norm(ops_, op::linear(ops_, x, matrix), kNoSlot, kGemma3nEpsilon),
                   magnitude);
  }
  RowSource matrices(const std::string& tensor) {
    return context_.tensors.tensor(tensor, {altup_.streams - 1, model_.width, model_.width},
                                   TensorRole::Matrix);
  }

  Streams expanded(Slot x) {
    const std::string tensor = "altup_proj.weight";
    const RowSource all = matrices(tensor);
    const Slot size = magnitude(x);
    Streams streams{x};
    for (uint32_t i = 1; i < altup_.streams; ++i) {
      streams.push_back(projected(all, tensor, x, i, size));
    }
    return streams;
  }
  Slot merged(const Streams& streams) {
    const std::string tensor = "altup_unembd_proj.weight";
    const RowSource all = matrices(tensor);
    const Slot size = magnitude(streams[0]);
    Slot sum = streams[0];
    for (uint32_t i = 1; i < altup_.streams; ++i) {
      sum = op::add(ops_, sum, projected(all, tensor, streams[i], i, size));
    }
    return op::scale(ops_, sum, 1.0f / static_cast<float>(altup_.streams));
  }

  /// Inputs of a layer's coefficients, [., streams]; router_ is the layer's.
  Slot modalities(Slot x) {
    const Slot normed = op::scale(ops_, op::rms_norm(ops_, x, router_.norm, epsilon_),
                                  1.0f / static_cast<float>(model_.width));
    return op::activate(ops_, TENON_ACTIVATION_TANH, op::linear(ops_, normed, router_.weight));
  }

  Streams predicted(uint32_t layer, const Streams& streams) {
    const uint32_t n = altup_.streams;
    const Slot coefficients = context_.linear(
        modalities(streams[altup_.active]), name(layer, "altup_predict_coef"), uint64_t{n} * n, n);
    Streams out;
    for (uint32_t i = 0; i < n; ++i) {
      Slot sum = streams[i];
      for (uint32_t j = 0; j < n; ++j) {
        sum =
            op::add(ops_, sum,
                    op::mul(ops_, streams[j], op::slice(ops_, coefficients, n * n, i * n + j, 1)));
      }
      out.push_back(sum);
    }
    return out;
  }

  Streams corrected(uint32_t layer, const Streams& predicted, Slot activated) {
    const uint32_t n = altup_.streams;
    const Slot coefficients =
        context_.linear(modalities(activated), name(layer, "altup_correct_coef"), n, n);
    const Slot innovation =
        op::add(ops_, activated, op::scale(ops_, predicted[altup_.active], -1.0f));
    Streams out;
    for (uint32_t i = 0; i < n; ++i) {
      const Slot share = op::mul(ops_, innovation, op::slice(ops_, coefficients, n, i, 1));
      out.push_back(op::add(ops_, op::add(ops_, predicted[i], innovation), share));
    }
    return out;
  }

  /// x + norm(r l x)
  Slot laurel(uint32_t layer, Slot x) {
    const std::string left = name(layer, "laurel_l.weight");
    const uint64_t rank = context_.tensors.rows_of(left).value_or(64);
    const Slot low = context_.linear(x, name(layer, "laurel_l"), rank, model_.width);
    const Slot high = context_.linear(low, name(layer, "laurel_r"), model_.width, rank);
    return op::add(ops_, x, norm(high, layer, "laurel_post_norm"));
  }

  Streams layer_of(uint32_t layer, const Streams& streams, Slot embeddings) {
    const LayerSpec& spec = context_.layer(layer);
    router_.norm = context_.tensors.weight(name(layer, "altup_router_norm.weight"), {model_.width},
                                           TensorRole::Norm);
    router_.weight = context_.tensors.weight(name(layer, "altup_router.weight"),
                                             {altup_.streams, model_.width}, TensorRole::Matrix);
    Streams all = predicted(layer, streams);
    const Slot normed = context_.layer_norm(all[altup_.active], layer, spec.attention_norm);
    const Slot attended =
        context_.layer_norm(mixer(context_, layer, normed), layer, spec.attention_post_norm);
    for (Slot& stream : all) stream = context_.wanted_rows(layer, stream);
    const Slot beside = laurel(layer, context_.wanted_rows(layer, normed));
    const Slot x = op::scale(
        ops_, op::add(ops_, op::add(ops_, attended, all[altup_.active]), beside), std::sqrt(0.5f));
    const Slot fed = context_.layer_norm(
        feed_forward(context_, layer, context_.layer_norm(x, layer, spec.feed_forward_norm)), layer,
        spec.feed_forward_post_norm);
    Streams out = corrected(layer, all, op::add(ops_, x, fed));
    const Slot scale = context_.tensors.weight(name(layer, "altup_correct_scale.weight"),
                                               {model_.width}, TensorRole::Norm);
    const Slot branch = layer_embedding_branch(
        context_, layer, op::mul(ops_, out[altup_.active], scale), embeddings);
    for (uint32_t i = 1; i < altup_.streams; ++i) out[i] = op::add(ops_, out[i], branch);
    return out;
  }

  BuildContext& context_;
  ProgramBuilder& ops_;
  const ModelSpec& model_;
  const AltUpSpec& altup_;
  float epsilon_;
  struct {
    Slot norm = kNoSlot;
    Slot weight = kNoSlot;
  } router_;  ///< router of the layer being built; used twice
};

Slot build_gemma3n(BuildContext& context) { return Gemma3n(context).build(); }

/// Some files have keys and values for layers that read another layer's cache.
constexpr std::string_view kGemma3nIgnored[] = {"blk.*.attn_k.weight", "blk.*.attn_v.weight",
                                                "blk.*.attn_k_norm.weight"};

constexpr KeyValue kGemma3nExample[] = {{"attention.sliding_window", 16u},
                                        {"attention.sliding_window_pattern", 2u},
                                        {"attention.shared_kv_layers", 2u},
                                        {"activation_sparsity_scale", 0.5f},
                                        {"altup.num_inputs", 4u},
                                        {"altup.active_idx", 0u},
                                        {"embedding_length_per_layer_input", 64u}};

}  // namespace

extern constexpr Architecture kGemma3n{.read = read_gemma3n,
                                       .build = build_gemma3n,
                                       .example = kGemma3nExample,
                                       .ignored = kGemma3nIgnored};

}  // namespace tenon
