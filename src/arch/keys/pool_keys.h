// The keys of attention to positions and pools (pooled_attention.h), which DeepSeek-V4 and V4.1 share.
#pragma once

#include "arch/keys/keys.h"
#include "arch/model_spec.h"
#include "file/model_file.h"

namespace tenon {

/// attention.compress_ratios (positions of a pool, 0: the layer has none), .q_lora_rank,
/// .output_group_count, .output_lora_rank, .sliding_window and .compress_rope_freq_base: makes the
/// attention of every layer one to the last positions and to pools, without an index. Throws Format for
/// sizes that do not fit together.
void read_pools(const Keys& keys, ModelSpec& model);

/// attention.indexer.top_k, .head_count and .key_length, of a layer with pools: IndexKind::Rows.
IndexSpec read_row_index(const Keys& keys, const AttentionSpec& attention);

/// Files may count blocks that predict further tokens and have none: then all their blocks are
/// layers.
void drop_missing_blocks(const ModelFile& file, ModelSpec& model);

}  // namespace tenon
