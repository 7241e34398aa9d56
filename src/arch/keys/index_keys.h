// The metadata of sparse attention: what an index is made of, which layers have one, and how many
// positions it chooses.
#pragma once

#include "arch/keys/keys.h"
#include "arch/model_spec.h"

namespace tenon {

/// attention.indexer.*: the attention of all layers, which is latent, looks at what an index chooses.
/// Which layers have one of their own attention.indexer.types tells; where it is missing all have.
///   kind  the fields that no key tells
void read_index(const Keys& keys, const IndexSpec& kind, ModelSpec& model);

/// The same of an index that chooses blocks of positions for each KV head, in the layers with experts:
/// attention.indexer.head_count, .key_length, .top_k, .block_size and .local_blocks.
void read_block_index(const Keys& keys, ModelSpec& model);

/// The same of an index that chooses pools of positions, in the layers with latent attention:
/// attention.indexer.head_count, .key_length, .top_k (positions), .kpool, .types and
/// .kpool_select_tail, and attention.layer_norm_epsilon. Throws Unsupported where the positions after
/// the last whole pool are not looked at: the first tokens of a text would see nothing.
void read_pooled_index(const Keys& keys, ModelSpec& model);

}  // namespace tenon
