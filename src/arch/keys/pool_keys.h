// Keys of attention to positions and pools (pooled_attention.h), common to DeepSeek-V4 and V4.1.
#pragma once

#include "arch/blocks/pooled_attention.h"
#include "arch/keys/keys.h"
#include "arch/model_spec.h"
#include "file/model_file.h"

namespace tenon {

/// Reads attention.compress_ratios (positions per pool; 0 means no pools in the layer),
/// .q_lora_rank, .output_group_count, .output_lora_rank, .sliding_window and
/// .compress_rope_freq_base. Gives every layer attention to the last positions and to pools,
/// without an index. Throws Format for inconsistent sizes.
void read_pools(const Keys& keys, ModelSpec& model);

/// Reads attention.indexer.top_k, .head_count and .key_length, for a layer with pools.
RowIndexSpec read_row_index(const Keys& keys, const AttentionSpec& attention);

/// Files may count prediction blocks without holding them; then all their blocks are layers.
void drop_missing_blocks(const ModelFile& file, ModelSpec& model);

}  // namespace tenon
