// Metadata of sparse attention: the index, the layers that have one, and the number of selected
// positions.
#pragma once

#include "arch/blocks/sparse_index.h"
#include "arch/keys/keys.h"
#include "arch/model_spec.h"

namespace tenon {

/// Reads attention.indexer.*: all layers have latent attention to an index's selection.
/// attention.indexer.types names the layers with an index of their own; without the key all have
/// one.
///   kind  the fields without a key
void read_index(const Keys& keys, const IndexSpec& kind, ModelSpec& model);

/// Reads an index that selects blocks of positions per KV head, in the layers with experts:
/// attention.indexer.head_count, .key_length, .top_k, .block_size and .local_blocks.
void read_block_index(const Keys& keys, ModelSpec& model);

/// Reads an index that selects pools of positions, in the layers with latent attention:
/// attention.indexer.head_count, .key_length, .top_k (positions), .kpool, .types and
/// .kpool_select_tail, and attention.layer_norm_epsilon. Throws Unsupported if positions after the
/// last whole pool are invisible: the first tokens of a text would see nothing.
void read_pooled_index(const Keys& keys, ModelSpec& model);

}  // namespace tenon
