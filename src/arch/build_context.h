// What the blocks of an architecture build with: the specification, the file's tensors, the program
// under construction, and what layers have in common in it.
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

/// What the program shall look like beyond the model itself.
struct ProgramOptions {
  uint32_t cache_type = TENON_TYPE_F16;  ///< as tenon_cache_group.type
  std::optional<uint32_t> cross_type{};  ///< cache type of cross-attention rows
  uint32_t block_tokens = 32;            ///< positions in a KV block
  StepLimits limits;
  /// Positions of the texts that the program is for, by which LongRoPE chooses its table; 0: those of
  /// the training.
  uint32_t context = 0;
  /// Of a model that gives rows: those of all tokens are a result, too, and where a classifier
  /// reads two texts, each step says of which one a token is.
  bool token_rows = false;
  /// The hidden state of the wanted rows [R, width] is a result besides the logits and before them:
  /// what prediction blocks go on from (PredictionSpec::reads_normed).
  bool hidden_result = false;
  /// Tables that nothing but rows_of_tokens() and rows_of_ngrams() reads stay in the file.
  bool rows_on_demand = false;
};

/// Shapes are [rows, columns]; "." is the number of rows that came in, T or R.
class BuildContext {
 public:
  /// Adds the KV groups and the angles of all layers to the program. Errors as TensorBinder.
  BuildContext(const ModelSpec& model, const ProgramOptions& options, TensorBinder& tensors,
               ProgramBuilder& ops);

  const ModelSpec& model;
  const ProgramOptions& options;
  TensorBinder& tensors;
  ProgramBuilder& ops;
  /// [vocab, width], once embedding() has bound it: where it is the output matrix, too.
  Slot embedding_table = kNoSlot;
  Slot token_rows = kNoSlot;    ///< [T, width], once row_head() has them
  Slot first_values = kNoSlot;  ///< [T, width], once the first layer of RWKV 7 has them
  Slot selection = kNoSlot;   ///< [T, count], once a layer has chosen by an index that layers share
  Slot candidates = kNoSlot;  ///< [T, blocks], once the layer that finds them has
  std::vector<DemandTable> demand_tables;  ///< those of rows_of_*() that stay in the file

  /// "blk.3.attn_q": the name of a block's tensor without ".weight" or ".bias".
  [[nodiscard]] static std::string in_block(uint32_t block, std::string_view name);
  /// The same of the block that a layer takes its tensors from.
  [[nodiscard]] std::string in_layer(uint32_t index, std::string_view name) const {
    return in_block(layer(index).block.value_or(index), name);
  }
  [[nodiscard]] const LayerSpec& layer(uint32_t index) const { return model.layers[index]; }
  /// Whether only the rows whose logits are wanted go on from here.
  [[nodiscard]] bool is_last(uint32_t layer) const { return layer == last_layer(); }
  [[nodiscard]] uint32_t last_layer() const {
    return static_cast<uint32_t>(model.layers.size() - 1);
  }

  /// What a table [vocab, columns] has for the tokens of a step, [T, columns]. Whether the table is a
  /// weight of the program, or stays in the file and its rows are an input of each step, is no
  /// business of the architecture's.
  Slot rows_of_tokens(const std::string& name, const RowSource& table);
  /// What the heads of `ngrams` find in a table [rows, columns] for the last tokens, side by side:
  /// [T, heads columns]; in memory or in the file likewise.
  Slot rows_of_ngrams(const std::string& name, const RowSource& table, const NgramLookup& ngrams);
  /// x [., columns] -> [., rows] with `name`.weight [rows, columns] and, if there is one,
  /// `name`.bias. In files that have `name`.scale [1] it multiplies the weight.
  Slot linear(Slot x, const std::string& name, uint64_t rows, uint64_t columns,
              Presence bias = Presence::Absent);
  /// The bias of a linear: `name`.bias [rows], or kNoSlot.
  Slot bias(const std::string& name, uint64_t rows, Presence presence);
  /// x [., columns] normalised by `norm` of a layer, or x itself where it has no name.
  Slot layer_norm(Slot x, uint32_t layer, const NormSpec& norm);
  /// The same with the whole name of the tensor. segment 0: the whole row, whose size is `columns`.
  Slot norm(Slot x, const std::string& name, const NormSpec& norm, uint64_t columns,
            uint32_t segment = 0);
  /// factor x; x itself for a factor of 1.
  Slot scaled(Slot x, float factor);
  /// x with its values brought into -limit..limit; x itself for a limit of 0.
  Slot clamped(Slot x, float limit);

  /// The angles [T, dimensions] of a layer's rope; kNoSlot where positions are not rotated. Layers
  /// with the same rope share them.
  [[nodiscard]] Slot angles(uint32_t layer) const { return angles_[layer]; }
  /// The same of the positions `back` before those of the tokens.
  Slot angles_before(uint32_t layer, uint32_t back);
  /// Those that turn back what the angles of a layer have turned.
  Slot angles_back(uint32_t layer);
  /// Where the keys and values of a layer are kept. Layers of the same geometry share a group.
  struct CachePlace {
    uint32_t group;
    uint32_t layer;  ///< in the group
  };
  [[nodiscard]] CachePlace cache(uint32_t layer) const { return cache_[layer]; }
  /// Where the keys of its index are.
  [[nodiscard]] CachePlace index_cache(uint32_t layer) const { return index_cache_[layer]; }
  /// Where the positions of a pool are until its key is made of them: values and gates, as f32.
  [[nodiscard]] CachePlace pool_cache(uint32_t layer) const { return pool_cache_[layer]; }
  /// Where the rows of pools are that attention looks at, and where the positions of one are until its
  /// row is made of them.
  [[nodiscard]] CachePlace row_cache(uint32_t layer) const { return row_cache_[layer]; }
  [[nodiscard]] CachePlace raw_cache(uint32_t layer) const { return raw_cache_[layer]; }
  /// Where the recurrences of a layer keep their values, those from `offset` of the layer's on.
  [[nodiscard]] StatePlace state(uint32_t layer, uint32_t offset) const {
    return {state_[layer].group, state_[layer].layer, offset};
  }
  /// The rows of x whose logits are wanted, in the last layer; before it and in models that
  /// give rows x itself.
  Slot wanted_rows(uint32_t layer, Slot x);

 private:
  void add_groups();
  void add_state_groups();
  void add_angles();
  /// Which way angles turn, and from which position on.
  struct Turn {
    int32_t offset = 0;
    bool back = false;
  };
  Slot make_angles(const RopeSpec& rope, const Turn& turn);

  std::vector<CachePlace> cache_;        // [layers], of attention
  std::vector<CachePlace> index_cache_;  // [layers], of attention with an index of its own
  std::vector<CachePlace> pool_cache_;   // [layers], of the same whose keys are pooled
  std::vector<CachePlace> row_cache_;    // [layers], of attention to pools
  std::vector<CachePlace> raw_cache_;    // [layers], of the same
  std::vector<CachePlace> state_;        // [layers], of recurrences
  std::vector<Slot> angles_;             // [layers]
  std::map<std::pair<Slot, uint32_t>, Slot> angles_before_;  // by those of the tokens, and how far
  std::map<Slot, Slot> angles_back_;                         // by those of the tokens
};

}  // namespace tenon
