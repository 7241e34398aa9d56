// Qwen4-Exp, its text model (general.architecture "qwen4exp").
#include "abi/ngram_hash.h"
#include "arch/architecture.h"
#include "arch/blocks/gated_residual.h"
#include "arch/blocks/hyper_connection.h"
#include "arch/blocks/ngram_embedding.h"
#include "arch/blocks/sparse_index.h"
#include "arch/keys/recurrent_keys.h"
#include "program/ops.h"

namespace tenon {
namespace {

/// Reads attention.indexer.* and attention.compress_ratios: positions per block in each layer; 0
/// means that attention sees all positions.
void read_qwen_index(const Keys& keys, ModelSpec& model) {
  if (!keys.contains("attention.compress_ratios")) return;
  const auto blocks_of_file = static_cast<uint32_t>(model.layers.size()) + model.unused_blocks;
  const std::vector<uint32_t> blocks =
      keys.counts("attention.compress_ratios", blocks_of_file, 0, kMaxSelected / 2);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    LayerSpec& layer = model.layers[i];
    if (layer.attention.heads == 0 || blocks[i] == 0) continue;
    IndexSpec index{.kind = IndexKind::Means};
    index.together = blocks[i];
    const uint32_t positions = keys.count("attention.indexer.top_k", 1, kMaxSelected / 2);
    index.count = positions / index.together;
    index.heads = keys.count("attention.indexer.head_count", 1, SpecLimits::kHeads);
    index.key_dim = keys.count("attention.indexer.key_length", layer.attention.rope.dimensions,
                               SpecLimits::kHeadDim);
    index.rope_style = TENON_ROPE_HALVES;
    index.epsilon = model.output_norm.epsilon;
    if (positions % index.together != 0) {
      keys.refuse(Code::Format, "attention.indexer.top_k", "is {}, which is not whole blocks of {}",
                  positions, index.together);
    }
    if (uint64_t{index.heads} * index.key_dim > SpecLimits::kHeadValues) {
      keys.refuse(Code::Format, "attention.indexer.head_count",
                  "is {}: {} values in all heads, more than {}", index.heads,
                  uint64_t{index.heads} * index.key_dim, SpecLimits::kHeadValues);
    }
    check_state_values(keys, index.state_values());
    layer.attention.specs.set(index);
  }
}

/// Reads ple.*: the layer before which rows by hashes of the last tokens are added.
void read_ngrams(const Keys& keys, ModelSpec& model) {
  if (!keys.contains("ple.layers")) return;
  const auto last = static_cast<uint32_t>(model.layers.size() - 1);
  LayerSpec& layer = model.layers[keys.counts("ple.layers", 1, 0, last).front()];
  const auto* delta = layer.specs.find<DeltaSpec>();
  if (delta == nullptr) {
    keys.refuse(Code::Format, "ple.layers", "names a layer of attention");
  }
  NgramSpec spec;
  const uint32_t n = keys.count("ple.ngram_size", 2, backends::kMaxNgram);
  const uint32_t heads = keys.count("ple.heads_per_ngram", 1, 256);
  spec.row = keys.count("embedding_length_per_layer_input", 1, SpecLimits::kWidth);
  spec.kernel = keys.count("ple.conv_kernel", 1, SpecLimits::kConvTaps);
  spec.dilation = n;
  spec.lookup.end = static_cast<int32_t>(keys.count("ple.eos_token_id", 0, INT32_MAX));
  for (const uint64_t value : keys.wholes("ple.layer_multipliers", n, 1, INT64_MAX)) {
    spec.lookup.multipliers.push_back(static_cast<int64_t>(value));
  }
  const uint64_t all = uint64_t{n - 1} * heads;
  const std::vector<uint64_t> offsets = keys.wholes("ple.head_offsets", all, 0, INT32_MAX);
  const std::vector<uint64_t> sizes = keys.wholes("ple.head_vocab_sizes", all, 1, INT32_MAX);
  for (uint64_t head = 0; head < all; ++head) {
    spec.lookup.heads.push_back({head / heads + 2, offsets[head], sizes[head]});
  }
  const uint64_t columns = model.specs.get<HyperConnectionSpec>().columns(model.width);
  check_state_values(keys, delta->state_values() + spec.state_values(columns));
  layer.specs.set(spec);
}

/// Qwen Team 2026 (as in models/qwen4_exp of `transformers`): Qwen3.5's mixers with gated residual
/// streams, attention to blocks of positions, and rows by hashes of several tokens.
ModelSpec read_qwen4exp(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  drop_prediction_layers(keys, model);
  for (LayerSpec& layer : model.layers) {
    layer.attention.qk_norm = QkNorm::EachHead;
    layer.attention.output_gate = true;
    if (layer.attention.value_dim != layer.attention.key_dim) {
      keys.refuse(Code::Format, "attention.value_length", "is {}, but gates have the {} of \"{}\"",
                  layer.attention.value_dim, layer.attention.key_dim,
                  keys.key("attention.key_length"));
    }
    layer.attention_norm.name = layer.feed_forward_norm.name = {};
  }
  model.output_norm.name = {};
  read_gated_delta_net(keys, true, false, model);
  for (LayerSpec& layer : model.layers) {
    if (auto* delta = layer.specs.find<DeltaSpec>()) delta->sigmoid_gate = true;
  }
  read_experts(keys, {}, model);
  read_shared_expert(keys, model);
  for (LayerSpec& layer : model.layers) {
    layer.feed_forward.experts.shared_gate = true;
  }
  model.specs.set(HyperConnectionSpec{
      .streams = keys.count("hyper_connection.count", 2, 16),
      .magnitude = 2.0f,
      .low_rank = keys.count("hyper_connection.low_rank", 1, SpecLimits::kWidth)});
  read_qwen_index(keys, model);
  read_ngrams(keys, model);
  return model;
}

constexpr int32_t kQwen4ExpBlocks[] = {0, 0, 0, 4};
constexpr int32_t kQwen4ExpNgramLayers[] = {1};
constexpr int32_t kQwen4ExpMultipliers[] = {1000003, 7919, 104729};
constexpr int32_t kQwen4ExpOffsets[] = {0, 97, 198, 301};
constexpr int32_t kQwen4ExpSizes[] = {97, 101, 103, 107};
constexpr KeyValue kQwen4ExpExample[] = {
    {"block_count", 4u},
    {"rope.dimension_count", 32u},
    {"ssm.conv_kernel", 4u},
    {"ssm.inner_size", 256u},
    {"ssm.state_size", 64u},
    {"ssm.time_step_rank", 4u},
    {"ssm.group_count", 2u},
    {"full_attention_interval", 4u},
    {"expert_count", 8u},
    {"expert_used_count", 2u},
    {"expert_feed_forward_length", 256u},
    {"expert_shared_feed_forward_length", 256u},
    {"hyper_connection.count", 2u},
    {"hyper_connection.low_rank", 32u},
    {"attention.indexer.head_count", 2u},
    {"attention.indexer.key_length", 32u},
    {"attention.indexer.top_k", 16u},
    {"attention.compress_ratios", std::span<const int32_t>(kQwen4ExpBlocks)},
    {"embedding_length_per_layer_input", 32u},
    {"ple.layers", std::span<const int32_t>(kQwen4ExpNgramLayers)},
    {"ple.ngram_size", 3u},
    {"ple.heads_per_ngram", 2u},
    {"ple.conv_kernel", 4u},
    {"ple.eos_token_id", 2u},
    {"ple.layer_multipliers", std::span<const int32_t>(kQwen4ExpMultipliers)},
    {"ple.head_offsets", std::span<const int32_t>(kQwen4ExpOffsets)},
    {"ple.head_vocab_sizes", std::span<const int32_t>(kQwen4ExpSizes)}};

// Files have an index for layers with full attention, too.
constexpr std::string_view kQwen4ExpIgnored[] = {"blk.*.indexer.*"};

}  // namespace

extern constexpr Architecture kQwen4Exp{.read = read_qwen4exp,
                                        .build = build_gated_residual_decoder,
                                        .example = kQwen4ExpExample,
                                        .ignored = kQwen4ExpIgnored};

}  // namespace tenon
