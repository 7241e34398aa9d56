// Towers: the part of a model that turns a picture into rows of the text's width. A type of
// projector has one file of src/arch/towers and one line of the table in tower.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/architectures.h"
#include "arch/tensor_binder.h"
#include "file/model_file.h"
#include "media/picture_family.h"

namespace tenon {

struct TowerSpec;

/// Builds the operations of a tower. Shapes are [rows, columns].
class TowerBuilder {
 public:
  TowerBuilder(const TowerSpec& spec, TensorBinder& tensors, ProgramBuilder& ops)
      : spec_(spec), tensors_(tensors), ops_(ops) {}

  [[nodiscard]] const TowerSpec& spec() const { return spec_; }
  [[nodiscard]] ProgramBuilder& ops() const { return ops_; }
  /// `name`.weight [rows, columns], with `name`.bias [rows] if the file has it.
  Slot linear(Slot x, const std::string& name, uint64_t rows);
  /// Like linear(), with as many rows as the tensor has.
  Slot linear(Slot x, const std::string& name);
  Slot layer_norm(Slot x, const std::string& name, float epsilon);
  Slot rms_norm(Slot x, const std::string& name, float epsilon);
  [[nodiscard]] bool has(const std::string& name) const { return tensors_.has(name + ".weight"); }
  /// The patches [T, 3 patch^2] and what is added to them [T, width], through all blocks.
  Slot blocks(Slot patches, Slot added);

 private:
  Slot norm(Slot x, const std::string& name);
  Slot weight(const std::string& name, uint64_t columns);
  Slot attention(Slot x, uint32_t layer, Slot angles);
  Slot feed_forward(Slot x, uint32_t layer);
  Slot block(Slot x, uint32_t layer, Slot angles);
  Slot scaled_by(Slot x, const std::string& name);

  const TowerSpec& spec_;
  TensorBinder& tensors_;
  ProgramBuilder& ops_;
};

/// Values of a tower that its programs read as inputs.
struct TowerTables {
  std::vector<float> patch_bias;  ///< [width]; empty: none
  std::vector<float> class_row;   ///< [width]; empty: none
  std::vector<float> positions;   ///< [n, width]; empty: none
};

/// Patches of a square tile of image_size.
uint64_t square_patches(const media::PictureRules& rules);

/// How a family of towers computes.
struct TowerForm {
  std::string_view projector_type;
  bool rms_norms = false;  ///< norms in blocks: RMS without bias; else layer norms
  bool gated = false;      ///< feed-forward with a gate
  uint32_t activation = 0;
  bool layer_scales = false;      ///< "ls1", "ls2"
  bool class_row = false;         ///< a learned row stands before the patches
  bool rope = false;              ///< pairs turn by the patch's row and column in turn
  std::string_view first_norm{};  ///< after the patches; may be none
  std::string_view last_norm{};   ///< after the blocks; may be none
  double epsilon = 1e-6;          ///< without a key
  /// Columns of a square of patches: channel by channel with its patches side by side, instead of
  /// patch by patch.
  bool channels_outermost = false;
  /// Rows of the table of positions, whose rows are added as they are.
  uint64_t (*num_positions)(const TowerSpec& spec) = nullptr;
  /// Positions of a grid of patches, [rows columns, width], by a table of a square of rows. With
  /// neither function the tower has no table.
  std::vector<float> (*positions)(const TowerSpec& spec, std::span<const float> table,
                                  uint64_t rows, uint64_t columns) = nullptr;
  /// The most patches that a tile has under these rules, without the class row.
  uint64_t (*most_patches)(const media::PictureRules& rules) = nullptr;
  /// x [T, merge^2 width], the squares of patches, to rows [T, text_width].
  Slot (*project)(TowerBuilder& builder, Slot x) = nullptr;
  /// Tensors of files that the tower does not read: "*.name"; may be none.
  std::string_view ignored{};
};

struct TowerSpec {
  const TowerForm* form = nullptr;
  const media::PictureFamily* family = nullptr;
  media::PictureRules rules;
  uint32_t width = 0;
  uint32_t heads = 0;
  uint32_t layers = 0;
  uint32_t feed_forward = 0;
  uint32_t text_width = 0;
  float epsilon = 0.0f;
  uint32_t most_rows = 0;  ///< tokens of a step: patches of the largest tile, with a class row

  [[nodiscard]] uint64_t patch_values() const { return 3 * rules.patch_size * rules.patch_size; }
  [[nodiscard]] uint64_t square_values() const { return rules.merge * rules.merge * width; }
};

/// A mmproj file with each filter of the patches as one row. Throws as open_model_file.
std::shared_ptr<const ModelFile> with_flat_filters(const ModelFile& file);

/// Reads the tower of a mmproj file. Throws Format for a file of another kind and for values that
/// no tower has, Unsupported, naming the type, for a projector that is not computed here; messages
/// begin with the file.
///   max_rows  most rows of a picture; 0: the family's
TowerSpec read_tower_spec(const ModelFile& file, uint64_t max_rows);

/// The first program: patches through the blocks.
struct TowerBlocks {
  BuiltProgram built;
  Slot patches = kNoSlot;  ///< input [T, patch_values]
  Slot added = kNoSlot;    ///< input [T, width]; kNoSlot: nothing is added
  Slot states = kNoSlot;   ///< result [T, width]
};
/// The second: squares of their rows, which the host puts side by side, through the projector.
struct TowerProjector {
  BuiltProgram built;
  Slot squares = kNoSlot;  ///< input [T, square_values]
  Slot rows = kNoSlot;     ///< result [T, text_width]
};

/// These throw Format for tensors that are missing, of another shape or unknown.
TowerTables read_tower_tables(const ModelFile& file, const TowerSpec& spec);
TowerBlocks build_tower_blocks(const ModelFile& file, const TowerSpec& spec,
                               const TowerTables& tables);
TowerProjector build_tower_projector(const ModelFile& file, const TowerSpec& spec);

/// Rows that enter the blocks: a tile's patches in reading order, after a class row of zeros.
///   tile  [rows patch, columns patch, 3]
///   out   [rows of the step, patch_values]
void lay_patches(const TowerSpec& spec, std::span<const float> tile, uint64_t rows,
                 uint64_t columns, std::span<float> out);
/// What is added to them, [rows of the step, width]: bias, class row, positions.
std::vector<float> rows_added(const TowerSpec& spec, const TowerTables& tables, uint64_t rows,
                              uint64_t columns);
/// Squares of merge x merge patches in reading order, without the class row.
///   states  [rows of the step, width]
///   out     [rows columns / merge^2, square_values]
void lay_squares(const TowerSpec& spec, std::span<const float> states, uint64_t rows,
                 uint64_t columns, std::span<float> out);

}  // namespace tenon
