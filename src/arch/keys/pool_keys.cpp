#include "arch/keys/pool_keys.h"

#include <fmt/format.h>

#include <vector>

#include "program/ops.h"

namespace tenon {
namespace {

/// Refuses inconsistent sizes.
void check_heads(const Keys& keys, const AttentionSpec& attention, const PoolSpec& pools) {
  if (attention.kv_heads != 1 || attention.value_dim != attention.key_dim) {
    keys.refuse(Code::Format, "attention.head_count_kv",
                "is {}, with keys of {} and values of {}; all heads share one row, key and value "
                "alike",
                attention.kv_heads, attention.key_dim, attention.value_dim);
  }
  if (attention.heads % pools.output_groups != 0) {
    keys.refuse(Code::Format, "attention.output_group_count",
                "is {}, which does not divide the {} heads", pools.output_groups, attention.heads);
  }
}

/// Layers with pools have their own base, and only these are stretched, without YaRN's magnitude.
RopeSpec read_layer_rope(const Keys& keys, const RopeSpec& rope, bool has_pools) {
  if (!has_pools) return rope.unscaled();
  RopeSpec stretched = rope;
  stretched.theta = keys.number("attention.compress_rope_freq_base", 2.0, 1e15);
  stretched.attention_factor = 1.0;
  return stretched;
}

}  // namespace

void read_pools(const Keys& keys, ModelSpec& model) {
  const std::vector<uint64_t> strides = keys.first_wholes(
      "attention.compress_ratios", model.layers.size(), 0, SpecLimits::kPositions / 2);
  for (size_t i = 0; i < strides.size(); ++i) {
    AttentionSpec& attention = model.layers[i].attention;
    PoolSpec pools;
    pools.query_rank = keys.count("attention.q_lora_rank", 1, SpecLimits::kWidth);
    pools.output_groups = keys.count("attention.output_group_count", 1, SpecLimits::kHeads);
    pools.output_rank = keys.count("attention.output_lora_rank", 1, SpecLimits::kWidth);
    pools.stride = static_cast<uint32_t>(strides[i]);
    attention.window = keys.count("attention.sliding_window", 1, SpecLimits::kPositions);
    attention.sinks = Presence::Required;
    check_heads(keys, attention, pools);
    attention.rope = read_layer_rope(keys, attention.rope, pools.stride > 0);
    attention.specs.set(pools);
  }
}

RowIndexSpec read_row_index(const Keys& keys, const AttentionSpec& attention) {
  RowIndexSpec index;
  index.count = keys.count("attention.indexer.top_k", 1, kMaxSelected);
  index.heads = keys.count("attention.indexer.head_count", 1, SpecLimits::kHeads);
  index.key_dim =
      keys.count("attention.indexer.key_length", attention.rope.dimensions, SpecLimits::kHeadDim);
  const uint64_t values = uint64_t{index.heads} * index.key_dim;
  if (values > SpecLimits::kHeadValues) {
    keys.refuse(Code::Format, "attention.indexer.head_count", "is {}: {} values, more than {}",
                index.heads, values, SpecLimits::kHeadValues);
  }
  return index;
}

void drop_missing_blocks(const ModelFile& file, ModelSpec& model) {
  const size_t first = model.layers.size() - model.unused_blocks;
  if (file.find(fmt::format("blk.{}.nextn.eh_proj.weight", first)) == nullptr) {
    model.unused_blocks = 0;
  }
  model.layers.resize(model.layers.size() - model.unused_blocks);
}

}  // namespace tenon
