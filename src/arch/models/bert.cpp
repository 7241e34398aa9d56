// BERT and its descendants of the same shape (general.architecture "bert", "nomic-bert",
// "nomic-bert-moe", "jina-bert-v2", "jina-bert-v3").
#include <algorithm>

#include "arch/architecture.h"
#include "arch/folder/folder_config.h"
#include "arch/keys/activation_key.h"

namespace tenon {
namespace {

/// Devlin et al. 2019: an encoder with norms after the sums. Every token has type 0.
ModelSpec read_bert_like(const Keys& keys, uint32_t pooling) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::Layer});
  const NormSpec norm = model.output_norm;
  model.embedding_norm = {"token_embd_norm", norm.kind, norm.epsilon};
  model.output_norm = {};
  model.token_types = 2;
  make_encoder(keys, pooling, model);
  for (LayerSpec& layer : model.layers) {
    layer.norms_sum = true;
    layer.attention_norm = layer.feed_forward_norm = {};
    layer.attention_post_norm = {"attn_output_norm", norm.kind, norm.epsilon};
    layer.feed_forward_post_norm = {"layer_output_norm", norm.kind, norm.epsilon};
  }
  return model;
}

/// Some files have one type, or none.
void adapt_bert(const ModelFile& file, ModelSpec& model) {
  const TensorInfo* types = file.find("token_types.weight");
  const uint64_t rows = types == nullptr ? 0 : types->num_values() / types->row_values();
  model.token_types = static_cast<uint32_t>(std::min<uint64_t>(rows, SpecLimits::kVocab));
}

ModelSpec read_bert(const Keys& keys) {
  ModelSpec model = read_bert_like(keys, TENON_POOL_FIRST);
  model.learned_positions = true;
  for (LayerSpec& layer : model.layers) {
    layer.attention.rope = {};
    set_plain_gelu(keys, layer, TENON_ACTIVATION_GELU_ERF);  // as published, all-MiniLM among them
  }
  return model;
}

/// Nussbaum et al. 2024, arXiv 2402.01613: rotated positions, SwiGLU, no biases.
ModelSpec read_nomic_bert(const Keys& keys) {
  ModelSpec model = read_bert_like(keys, TENON_POOL_MEAN);
  for (LayerSpec& layer : model.layers) layer.attention.fused_qkv = true;
  return model;
}

/// Nussbaum and Duderstadt 2025, arXiv 2502.07972: every other layer with experts.
ModelSpec read_nomic_bert_moe(const Keys& keys) {
  ModelSpec model = read_nomic_bert(keys);
  read_experts(keys, {.normalised = false}, model);
  const uint32_t period = keys.count("moe_every_n_layers", 1, SpecLimits::kLayers);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    LayerSpec& layer = model.layers[i];
    set_plain_gelu(keys, layer);
    if (i % period != 1 % period) layer.feed_forward.experts = {};
  }
  return model;
}

/// Günther et al. 2023, arXiv 2310.19923: ALiBi instead of positions, GeGLU.
ModelSpec read_jina_bert_v2(const Keys& keys) {
  ModelSpec model = read_bert_like(keys, TENON_POOL_MEAN);
  for (LayerSpec& layer : model.layers) {
    layer.attention.rope = {};
    layer.attention.alibi = true;
    layer.feed_forward.activation = read_activation(keys, TENON_ACTIVATION_GELU_TANH, true);
  }
  return model;
}

/// Sturua et al. 2024, arXiv 2409.10173: rotated positions, GELU, fused projections.
ModelSpec read_jina_bert_v3(const Keys& keys) {
  ModelSpec model = read_bert_like(keys, TENON_POOL_MEAN);
  for (LayerSpec& layer : model.layers) {
    layer.attention.fused_qkv = true;
    set_plain_gelu(keys, layer);
  }
  return model;
}

constexpr KeyValue kNomicBertMoeExample[] = {
    {"expert_count", 8u}, {"expert_used_count", 2u}, {"moe_every_n_layers", 2u}};

constexpr std::string_view kBertKeys =
    "vocab_size#embeddings.word_embeddings\n"
    "type_vocab_size#embeddings.token_type_embeddings\n"
    "hidden_act!hidden_act\n"
    "layer_norm_eps$attention.layer_norm_epsilon\n"
    "position_embedding_type=absolute\n";

#define TENON_BERT_TENSORS                                              \
  "embeddings.word_embeddings token_embd\n"                             \
  "embeddings.token_type_embeddings token_types\n"                      \
  "embeddings.LayerNorm token_embd_norm\n"                              \
  "embeddings.position_ids -\n"                                         \
  "pooler -\n"                                                          \
  "encoder.layer.*.attention.self.query blk.*.attn_q\n"                 \
  "encoder.layer.*.attention.self.key blk.*.attn_k\n"                   \
  "encoder.layer.*.attention.self.value blk.*.attn_v\n"                 \
  "encoder.layer.*.attention.output.dense blk.*.attn_output\n"          \
  "encoder.layer.*.attention.output.LayerNorm blk.*.attn_output_norm\n" \
  "encoder.layer.*.intermediate.dense blk.*.ffn_up\n"                   \
  "encoder.layer.*.output.dense blk.*.ffn_down\n"                       \
  "encoder.layer.*.output.LayerNorm blk.*.layer_output_norm\n"

/// Positions begin at 2, after that of the padding.
void read_roberta_folder(FolderConfig& config) {
  const uint64_t positions = config.required_count("max_position_embeddings");
  if (config.count("pad_token_id").value_or(1) != 1 || positions < 3) {
    config.refuse(Code::Unsupported, "pad_token_id", "is not 1, or there are {} positions",
                  positions);
  }
  config.put("context_length", positions - 2);
}

constexpr FolderForm kRobertaFolder{
    .types = "xlm-roberta roberta",
    .classes =
        "XLMRobertaModel XLMRobertaForSequenceClassification RobertaModel "
        "RobertaForSequenceClassification",
    .keys = kBertKeys,
    .tensors =
        "embeddings.position_embeddings position_embd s\n"
        "classifier.dense cls\n"
        "classifier.out_proj cls.output\n"
        "lm_head -\n" TENON_BERT_TENSORS,
    .derive = read_roberta_folder,
    .theta = 10000.0,
    .encoder = true};
constexpr FolderForm kBertFolder{
    .types = "bert",
    .classes = "BertModel",
    .keys = kBertKeys,
    .tensors = "embeddings.position_embeddings position_embd\n" TENON_BERT_TENSORS,
    .theta = 10000.0,
    .encoder = true,
    .next = &kRobertaFolder};
#undef TENON_BERT_TENSORS

}  // namespace

extern constexpr Architecture kBert{
    .read = read_bert, .adapt = adapt_bert, .build = build_encoder, .folder = &kBertFolder};
extern constexpr Architecture kNomicBert{
    .read = read_nomic_bert, .adapt = adapt_bert, .build = build_encoder};
extern constexpr Architecture kNomicBertMoe{.read = read_nomic_bert_moe,
                                            .adapt = adapt_bert,
                                            .build = build_encoder,
                                            .example = kNomicBertMoeExample};
extern constexpr Architecture kJinaBertV2{
    .read = read_jina_bert_v2, .adapt = adapt_bert, .build = build_encoder};
extern constexpr Architecture kJinaBertV3{
    .read = read_jina_bert_v3, .adapt = adapt_bert, .build = build_encoder};

}  // namespace tenon
