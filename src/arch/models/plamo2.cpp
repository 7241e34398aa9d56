// PLaMo 2 (general.architecture "plamo2").
#include <algorithm>

#include "arch/architecture.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// Preferred Networks 2025: layers of Mamba with heads and inner norms alternate with attention;
/// norms before and after each block.
ModelSpec read_plamo2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .hybrid = true});
  StateSpaceSpec spec = read_state_space(keys, MambaVersion::Plamo);
  spec.rank = std::max(64u, model.width / 16);  // has no key
  spec.norms = ScanNorms::Weighted;
  add_post_norms(model);
  spec.norm_suffix = {};  // these files omit ".weight", also for norms after blocks
  for (LayerSpec& layer : model.layers) {
    layer.attention_post_norm.suffix = layer.feed_forward_post_norm.suffix = {};
    layer.feed_forward.fused_gate_up = true;
    if (layer.attention.heads == 0) {
      set_state_space(keys, spec, layer);
    } else {
      layer.attention.fused_qkv = true;
      layer.attention.qk_norm = QkNorm::RmsOfHead;
    }
  }
  return model;
}

constexpr int32_t kPlamo2Heads[] = {0, 4, 0, 4};
constexpr int32_t kPlamo2KvHeads[] = {0, 2, 0, 2};
constexpr KeyValue kPlamo2Example[] = {
    {"attention.head_count", std::span<const int32_t>(kPlamo2Heads)},
    {"attention.head_count_kv", std::span<const int32_t>(kPlamo2KvHeads)},
    {"attention.key_length", 64u},
    {"attention.value_length", 64u},
    {"ssm.conv_kernel", 4u},
    {"ssm.inner_size", 512u},
    {"ssm.state_size", 16u},
    {"ssm.time_step_rank", 8u},
    {"ssm.group_count", 0u}};

}  // namespace

extern constexpr Architecture kPlamo2{.read = read_plamo2, .example = kPlamo2Example};

}  // namespace tenon
