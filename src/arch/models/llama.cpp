// Llama 1 to 3, Mistral, Mixtral (with experts) and the many models that share their shape
// (general.architecture "llama"), and its encoders ("llama-embed").
#include "arch/architecture.h"
#include "arch/folder/folder_config.h"

namespace tenon {
namespace {

/// Touvron et al. 2023. These files permute the rows of attn_q and attn_k so that the pairs of a
/// rotation are neighbours. Some descendants have biases.
ModelSpec read_llama(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  read_window(keys, model);
  if (keys.count_or("expert_count", 0, 0, SpecLimits::kExperts) > 0) {
    read_experts(keys, {}, model);
  }
  return model;
}

/// BehnamGhader et al. 2024, arXiv 2404.05961: Llama whose tokens all see each other.
ModelSpec read_llama_embed(const Keys& keys) {
  ModelSpec model = read_llama(keys);
  make_encoder(keys, TENON_POOL_MEAN, model);
  return model;
}

constexpr std::string_view kLlamaEmbedIgnored[] = {"output.weight"};

/// Only Mistral and Mixtral have windows; Mistral has one of 4096 unless it says otherwise.
void read_llama_folder(FolderConfig& config) {
  const std::string_view type = config.text("model_type");
  if (type == "llama") return config.read_table("sliding_window=\n");
  config.read_table("num_key_value_heads!\n");
  auto window = config.count("sliding_window");
  if (type == "mistral" && !config.contains("sliding_window")) window = 4096;
  const std::string_view kind = window ? "sliding_attention" : "full_attention";
  if (const JsonNode* types = config.take("layer_types")) {
    for (const JsonNode& layer : types->items) {
      if (layer.text == kind) continue;
      config.refuse(Code::Unsupported, "layer_types",
                    "has {}; \"sliding_window\" makes all layers {}", json_text(layer), kind);
    }
  }
  if (window) config.put("attention.sliding_window", *window);
}

constexpr std::string_view kLlamaKeys =
    "vocab_size#embed_tokens\n"
    "hidden_act=silu\n"
    "rms_norm_eps$attention.layer_norm_rms_epsilon\n"
    "attention_bias?layers.0.self_attn.q_proj.bias\n"
    "mlp_bias?layers.0.mlp.gate_proj.bias\n"
    "rope_interleaved=false\n"
    "num_local_experts>expert_count\n"
    "num_experts_per_tok>expert_used_count\n";

constexpr FolderForm kMixtralFolder{.types = "mixtral",
                                    .classes = "MixtralForCausalLM",
                                    .keys = kLlamaKeys,
                                    .tensors =
                                        "layers.*.block_sparse_moe.gate blk.*.ffn_gate_inp\n"
                                        "layers.*.block_sparse_moe.experts.*.w1 blk.*.ffn_gate.*\n"
                                        "layers.*.block_sparse_moe.experts.*.w2 blk.*.ffn_down.*\n"
                                        "layers.*.block_sparse_moe.experts.*.w3 blk.*.ffn_up.*\n",
                                    .derive = read_llama_folder,
                                    .theta = 1e6,
                                    .reorders_heads = true};

constexpr FolderForm kLlamaFolder{.types = "llama mistral",
                                  .classes = "LlamaForCausalLM MistralForCausalLM",
                                  .keys = kLlamaKeys,
                                  .derive = read_llama_folder,
                                  .theta = 10000.0,
                                  .reorders_heads = true,
                                  .next = &kMixtralFolder};

}  // namespace

extern constexpr Architecture kLlama{.read = read_llama, .folder = &kLlamaFolder};
extern constexpr Architecture kLlamaEmbed{
    .read = read_llama_embed, .build = build_encoder, .ignored = kLlamaEmbedIgnored};

}  // namespace tenon
