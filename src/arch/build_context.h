// Context for building an architecture's blocks: the specification, the file's tensors, the program
// under construction, and values shared by layers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/model_spec.h"
#include "arch/tensor_binder.h"
#include "program/operations.h"
#include "weights/demand_table.h"

namespace tenon {

/// Properties of the program beyond the model itself.
struct ProgramOptions {
  uint32_t cache_type = TENON_TYPE_F16;  ///< tenon_cache_group.type
  std::optional<uint32_t> cross_type{};  ///< cache type of cross-attention rows
  uint32_t block_tokens = 32;            ///< positions per KV block
  StepLimits limits;
  /// Length of the program's texts, by which LongRoPE chooses its table; 0 means the training
  /// length.
  uint32_t context = 0;
  /// Embedding models: also return one row per token; pair classifiers get a segment id per token.
  bool token_rows = false;
  /// Models with logits: the first result is the wanted rows [R, width] before the output matrix.
  bool row_result = false;
  /// Returns the hidden state of the wanted rows [R, width] before the logits, for prediction
  /// blocks (PredictionSpec::reads_normed).
  bool hidden_result = false;
  /// Keeps tables in the file that only rows_of_tokens() and rows_of_ngrams() read.
  bool rows_on_demand = false;
};

/// Shapes are [rows, columns]; "." is the row count of the input, T or R.
class BuildContext {
 public:
  /// Adds the KV groups and the rope angles of all layers. Errors as TensorBinder.
  BuildContext(const ModelSpec& model, const ProgramOptions& options, TensorBinder& tensors,
               ProgramBuilder& ops);

  const ModelSpec& model;
  const ProgramOptions& options;
  TensorBinder& tensors;
  ProgramBuilder& ops;
  /// [vocab, width], set by embedding() if it is the output matrix, too.
  Slot embedding_table = kNoSlot;
  Slot token_rows = kNoSlot;    ///< [T, width], set by row_head()
  Slot first_values = kNoSlot;  ///< [T, width], set by the first layer of RWKV 7
  Slot selection = kNoSlot;     ///< [T, count], set by the layer whose index others share
  Slot candidates = kNoSlot;    ///< [T, blocks], set by the layer that finds them
  std::vector<DemandTable> demand_tables;  ///< tables of rows_of_*() that stay in the file

  /// "blk.3.attn_q": tensor name in a block, without ".weight" or ".bias".
  [[nodiscard]] static std::string in_block(uint32_t block, std::string_view name);
  /// in_block() for the block that holds a layer's tensors.
  [[nodiscard]] std::string in_layer(uint32_t index, std::string_view name) const {
    return in_block(layer(index).block.value_or(index), name);
  }
  [[nodiscard]] const LayerSpec& layer(uint32_t index) const { return model.layers[index]; }
  /// True if only rows with wanted logits continue after this layer.
  [[nodiscard]] bool is_last(uint32_t layer) const { return layer == last_layer(); }
  [[nodiscard]] uint32_t last_layer() const {
    return static_cast<uint32_t>(model.layers.size() - 1);
  }

  /// Looks up rows of a table [vocab, columns] for the tokens of a step, [T, columns]. Hides
  /// whether the table is a weight or stays in the file with its rows as an input of each step.
  Slot rows_of_tokens(const std::string& name, const RowSource& table);
  /// Looks up rows of a table [rows, columns] by `ngrams` of the last tokens, heads side by side:
  /// [T, heads columns]. The table may stay in the file, too.
  Slot rows_of_ngrams(const std::string& name, const RowSource& table, const NgramLookup& ngrams);
  /// x [., columns] -> [., rows] with `name`.weight [rows, columns] and the optional `name`.bias.
  /// An optional `name`.scale [1] multiplies the weight.
  Slot linear(Slot x, const std::string& name, uint64_t rows, uint64_t columns,
              Presence bias = Presence::Absent);
  /// The bias of a linear: `name`.bias [rows], or kNoSlot.
  Slot bias(const std::string& name, uint64_t rows, Presence presence);
  /// x [., columns] normalised by `norm` of a layer; x itself if the norm has no name.
  Slot layer_norm(Slot x, uint32_t layer, const NormSpec& norm);
  /// Normalises with the tensor's full name. segment 0 means the whole row of `columns`.
  Slot norm(Slot x, const std::string& name, const NormSpec& norm, uint64_t columns,
            uint32_t segment = 0);
  /// factor x; x itself if the factor is 1.
  Slot scaled(Slot x, float factor);
  /// x clamped to -limit..limit; x itself if the limit is 0.
  Slot clamped(Slot x, float limit);

  /// Rope angles [T, dimensions] of a layer; kNoSlot without rotation. Layers with equal rope share
  /// them.
  [[nodiscard]] Slot angles(uint32_t layer) const { return angles_[layer]; }
  /// Angles of the positions `back` before those of the tokens.
  Slot angles_before(uint32_t layer, uint32_t back);
  /// Angles of the inverse rotation of a layer's angles.
  Slot angles_back(uint32_t layer);
  /// Cache of a layer's keys and values. Layers with equal geometry share a group.
  struct CachePlace {
    uint32_t group;
    uint32_t layer;  ///< index in the group
  };
  [[nodiscard]] CachePlace cache(uint32_t layer) const { return cache_[layer]; }
  /// Cache of the layer's index keys.
  [[nodiscard]] CachePlace index_cache(uint32_t layer) const { return index_cache_[layer]; }
  /// Cache of positions not yet pooled into an index key: values and gates, f32.
  [[nodiscard]] CachePlace pool_cache(uint32_t layer) const { return pool_cache_[layer]; }
  /// Caches of the pooled rows that attention reads (row_cache) and of positions not yet pooled
  /// into a row (raw_cache).
  [[nodiscard]] CachePlace row_cache(uint32_t layer) const { return row_cache_[layer]; }
  [[nodiscard]] CachePlace raw_cache(uint32_t layer) const { return raw_cache_[layer]; }
  /// State of a layer's recurrences, from `offset` within the layer on.
  [[nodiscard]] StatePlace state(uint32_t layer, uint32_t offset) const {
    return {state_[layer].group, state_[layer].layer, offset};
  }
  /// Rows of x with wanted logits, in the last layer; x itself in other layers and in models that
  /// give rows.
  Slot wanted_rows(uint32_t layer, Slot x);

 private:
  void add_groups();
  void add_state_groups();
  void add_angles();
  /// Rotation direction and position offset.
  struct Turn {
    int32_t offset = 0;
    bool back = false;
  };
  Slot make_angles(const RopeSpec& rope, const Turn& turn);

  std::vector<CachePlace> cache_;        // [layers] attention
  std::vector<CachePlace> index_cache_;  // [layers] attention with its own index
  std::vector<CachePlace> pool_cache_;   // [layers] index with pooled keys
  std::vector<CachePlace> row_cache_;    // [layers] attention to pools
  std::vector<CachePlace> raw_cache_;    // [layers] attention to pools, unpooled positions
  std::vector<CachePlace> state_;        // [layers] recurrences
  std::vector<Slot> angles_;             // [layers]
  std::map<std::pair<Slot, uint32_t>, Slot> angles_before_;  // by angles of the tokens and distance
  std::map<Slot, Slot> angles_back_;                         // by angles of the tokens
};

}  // namespace tenon
