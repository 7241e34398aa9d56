// Context for building an architecture's blocks: the specification, the file's tensors, the program
// under construction, and values shared by layers.
#pragma once

#include <cstdint>
#include <forward_list>
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
  /// Also returns statistics of the inputs of products (ProgramBuilder::watch_products).
  bool product_inputs = false;
  /// Slots of the bank of adapters, with slot 0 (adapter_sites.h); 0 means none.
  uint32_t adapter_slots = 0;
  uint32_t adapter_rank = 0;
  /// Decodes weights in formats of memory (quant/formats.h) to f32, for devices without them.
  bool decodes_packed = false;
  /// Rows of pictures may stand in place of embeddings (MediaInputs).
  bool media_rows = false;
};

/// Inputs of a program whose texts may hold rows of pictures: a token's embedding is its own times
/// `keep`, plus `rows`.
struct MediaInputs {
  Slot rows = kNoSlot;  ///< [T, width]: a picture's row, else zeros
  Slot keep = kNoSlot;  ///< [T, 1]: 0 for a picture's row, else 1
};

/// Role of the cache of a layer's attention.
inline constexpr std::string_view kAttentionCache = "attention";

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
  Slot token_rows = kNoSlot;               ///< [T, width], set by row_head()
  MediaInputs media;                       ///< set by embedding(), with ProgramOptions::media_rows
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
  struct CachePlace {
    uint32_t group;
    uint32_t layer;  ///< index in the group
  };
  /// Declares a cache of a layer, which its block names by `role`, a constant. Caches of equal
  /// geometry share a group, whose layers are counted. Only for `add_caches` of a specification
  /// (BlockSpec).
  void add_cache(uint32_t layer, std::string_view role, const CacheGroup& group);
  /// Like add_cache(), but the cache is that of an earlier layer.
  void share_cache(uint32_t layer, std::string_view role, uint32_t source);
  /// Like add_cache(), for f32 values of state per sequence. A layer has the states of all its
  /// blocks, one after another.
  void add_state(uint32_t layer, std::string_view role, uint64_t values);
  /// A cache that add_cache() or share_cache() declared.
  [[nodiscard]] CachePlace cache(uint32_t layer, std::string_view role = kAttentionCache) const;
  /// A state that add_state() declared, from `offset` on.
  [[nodiscard]] StatePlace state(uint32_t layer, std::string_view role, uint64_t offset = 0) const;
  /// A group without layers of rows [key_dim] per position, common to all heads, whose first
  /// value_dim values are the value, too.
  [[nodiscard]] CacheGroup latent_group(uint32_t key_dim, uint32_t value_dim) const;

  /// A slot that blocks hand on to blocks of later layers, by a constant of their own. At first
  /// kNoSlot.
  Slot& shared(std::string_view name);

  /// Rows of x with wanted logits, in the last layer; x itself in other layers and in models that
  /// give rows.
  Slot wanted_rows(uint32_t layer, Slot x);

 private:
  void add_state_groups();
  /// A cache, or a state that begins at `offset` in its layer's.
  struct Declared {
    uint32_t layer;
    std::string_view role;
    CachePlace place;
    uint64_t offset;
  };
  [[nodiscard]] const Declared& declared(uint32_t layer, std::string_view role) const;
  void add_angles();
  /// Rotation direction and position offset.
  struct Turn {
    int32_t offset = 0;
    bool back = false;
    bool operator==(const Turn&) const = default;
  };
  struct TurnedAngles {
    Slot angles;  ///< those of the tokens
    Turn turn;
    Slot turned;
  };
  Slot make_angles(const RopeSpec& rope, const Turn& turn);
  Slot turned_angles(uint32_t layer, const Turn& turn);

  struct SharedSlot {
    std::string_view name;
    Slot slot;
  };
  std::vector<CacheGroup> groups_;      // in the order of their first layers
  std::vector<Declared> declared_;      // in the order of layers
  std::vector<uint64_t> state_values_;  // [layers]
  std::vector<CachePlace> state_;       // [layers]
  std::forward_list<SharedSlot> shared_;
  std::vector<Slot> angles_;  // [layers]
  std::vector<TurnedAngles> turned_angles_;
};

}  // namespace tenon
