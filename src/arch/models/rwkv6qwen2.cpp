// QRWKV 6 (general.architecture "rwkv6qwen2").
#include "arch/architecture.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// Recursal 2024: RWKV 6's time mix as gated linear attention instead of Qwen 2's attention, with
/// its shared heads of keys and values.
ModelSpec read_rwkv6qwen2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.hybrid = true});
  WkvSpec spec = read_wkv6(keys, model.width, 1);
  spec.linear = true;
  const uint32_t heads = model.width / spec.head_dim;
  const uint32_t kv_heads = keys.count_or("attention.head_count_kv", 0, 0, SpecLimits::kHeads);
  spec.kv_heads = kv_heads == 0 ? heads : kv_heads;
  if (heads % spec.kv_heads != 0) {
    keys.refuse(Code::Format, "attention.head_count_kv",
                "is {}, which does not divide the {} heads of \"{}\"", kv_heads, heads,
                keys.key("wkv.head_size"));
  }
  set_wkv(keys, spec, model);
  return model;
}

constexpr KeyValue kRwkv6Qwen2Example[] = {
    {"attention.head_count", 0u}, {"attention.head_count_kv", 2u}, {"wkv.head_size", 64u},
    {"token_shift_count", 1u},    {"time_mix_extra_dim", 8u},      {"time_decay_extra_dim", 16u}};

}  // namespace

extern constexpr Architecture kRwkv6Qwen2{.read = read_rwkv6qwen2, .example = kRwkv6Qwen2Example};

}  // namespace tenon
