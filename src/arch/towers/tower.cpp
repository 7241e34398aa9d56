// Towers: from a mmproj file to a specification and two programs.
#include "arch/towers/tower.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "arch/keys/keys.h"
#include "base/error.h"
#include "base/utf8.h"
#include "media/picture_rules.h"
#include "program/operations.h"

namespace tenon {

extern const TowerForm kIdefics3Tower;
extern const TowerForm kInternVlTower;
extern const TowerForm kLfm2Tower;
extern const TowerForm kPixtralTower;

namespace {

constexpr std::array<const TowerForm*, 4> kTowerForms{&kIdefics3Tower, &kInternVlTower, &kLfm2Tower,
                                                      &kPixtralTower};

/// Above every published tower: pictures of 3,584 x 3,584 in patches of 14.
constexpr uint64_t kMostTowerPatches = 1u << 16;

const TowerForm& tower_form(const std::string& file_name, std::string_view type) {
  for (const TowerForm* form : kTowerForms) {
    if (form->projector_type == type) return *form;
  }
  std::vector<std::string_view> known;
  for (const TowerForm* form : kTowerForms) known.push_back(form->projector_type);
  fail(Code::Unsupported, "{}: a projector of type {} is not computed here; these are: {}",
       file_name, quoted(type), fmt::join(known, ", "));
}

std::string_view projector_type(const Keys& keys) {
  const std::string_view own = keys.text_or("vision.projector_type", "");
  return own.empty() ? keys.text_or("projector_type", "") : own;
}

media::PictureRules read_rules(const ModelFile& file, const media::PictureFamily& family) {
  const Metadata& metadata = file.metadata();
  media::KeyReader reader;
  reader.count = [&](std::string_view key) { return metadata.find<uint64_t>(key); };
  reader.triple = [&](std::string_view key) -> std::optional<std::array<float, 3>> {
    const auto values = metadata.find<std::vector<float>>(key);
    if (!values) return std::nullopt;
    if (values->size() != 3) {
      fail(Code::Format, "{} has {} numbers, not 3", key, values->size());
    }
    return std::array<float, 3>{(*values)[0], (*values)[1], (*values)[2]};
  };
  try {
    return picture_rules(family, read_projector_keys(reader));
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(file.name())) throw;
    fail(error.code(), "{}: {}", file.name(), error.what());
  }
}

/// All values of a tensor, decoded; none if the file lacks it.
std::vector<float> values_of(const ModelFile& file, std::string_view name, uint64_t rows,
                             uint64_t columns) {
  const TensorInfo* tensor = file.find(name);
  if (tensor == nullptr) return {};
  if (tensor->row_values() != columns || tensor->num_values() != rows * columns) {
    fail(Code::Format, "{}: tensor \"{}\" is {}, but the hyper-parameters ask for [{}, {}]",
         file.name(), name, tensor->text(), rows, columns);
  }
  std::vector<float> values(rows * columns);
  RowSource(*tensor).decoded().read(file, 0, rows, std::as_writable_bytes(std::span(values)));
  return values;
}

[[noreturn]] void fail_without(const ModelFile& file, std::string_view name) {
  fail(Code::Format, "{}: tensor \"{}\" is missing", file.name(), name);
}

std::vector<float> read_positions(const ModelFile& file, const TowerSpec& spec) {
  constexpr std::string_view kName = "v.position_embd.weight";
  const TowerForm& form = *spec.form;
  if (form.num_positions == nullptr && form.positions == nullptr) return {};
  const TensorInfo* tensor = file.find(kName);
  if (tensor == nullptr) fail_without(file, kName);
  uint64_t rows = tensor->num_values() / tensor->row_values();
  if (form.num_positions != nullptr) {
    rows = form.num_positions(spec);
  } else {
    const auto side = static_cast<uint64_t>(std::llround(std::sqrt(static_cast<double>(rows))));
    if (side * side != rows || rows > kMostTowerPatches) {
      fail(Code::Format, "{}: tensor \"{}\" is {}, no square of positions", file.name(), kName,
           tensor->text());
    }
  }
  return values_of(file, kName, rows, spec.width);
}

/// Patterns of the tensors that a program leaves to others.
std::vector<std::string> others_than(const TowerSpec& spec, std::vector<std::string> patterns) {
  patterns.insert(patterns.end(), {"a.*", "mm.a.*", std::string(spec.form->ignored)});
  return patterns;
}

/// Finishes a program whose result is `rows`.
BuiltProgram finish_tower(ProgramBuilder& builder, TensorBinder& tensors, Slot rows,
                          uint32_t most) {
  std::vector<BoundWeight> weights = std::move(tensors).finish();
  builder.result(rows);
  Program program = std::move(builder).finish(kNoSlot, {most, most});
  return {.model = {}, .program = std::move(program), .weights = std::move(weights), .tables = {}};
}

}  // namespace

uint64_t square_patches(const media::PictureRules& rules) {
  const uint64_t side = rules.image_size / rules.patch_size;
  return side * side;
}

std::shared_ptr<const ModelFile> with_flat_filters(const ModelFile& file) {
  std::vector<TensorInfo> tensors(file.tensors().begin(), file.tensors().end());
  for (TensorInfo& tensor : tensors) {
    if (tensor.name != "v.patch_embd.weight" || tensor.rank != 4) continue;
    tensor.shape = {tensor.shape[0], tensor.shape[1] * tensor.shape[2] * tensor.shape[3], 1, 1};
    tensor.rank = 2;
  }
  return std::make_shared<const ModelFile>(
      file, std::move(tensors),
      std::vector<std::shared_ptr<const ByteSource>>(file.sources().begin(), file.sources().end()),
      std::vector<uint64_t>(file.header_bytes().begin(), file.header_bytes().end()), file.change());
}

TowerSpec read_tower_spec(const ModelFile& file, uint64_t max_rows) {
  const Keys keys(file.metadata());
  if (keys.architecture() != "clip") {
    fail(Code::Format, "{}: is a model of architecture {}, no projector (\"clip\")", file.name(),
         quoted(keys.architecture()));
  }
  if (keys.flag("has_vision_encoder") == false) {
    fail(Code::Unsupported, "{}: has no tower for pictures", file.name());
  }
  TowerSpec spec;
  spec.form = &tower_form(file.name(), projector_type(keys));
  spec.family = media::find_picture_family(spec.form->projector_type);
  if (spec.family == nullptr) {
    fail(Code::Internal, "no family of pictures for \"{}\"", spec.form->projector_type);
  }
  spec.rules = read_rules(file, *spec.family);
  if (max_rows != 0) spec.family->bound_rows(spec.rules, max_rows);
  spec.width = keys.count("vision.embedding_length", 1, SpecLimits::kWidth);
  spec.heads = keys.count("vision.attention.head_count", 1, SpecLimits::kHeads);
  spec.layers = keys.count("vision.block_count", 1, SpecLimits::kLayers);
  spec.feed_forward = keys.count("vision.feed_forward_length", 1, SpecLimits::kWidth);
  spec.text_width = keys.count("vision.projection_dim", 1, SpecLimits::kWidth);
  spec.epsilon = static_cast<float>(keys.number_or("vision.attention.layer_norm_epsilon",
                                                   spec.form->epsilon, SpecLimits::kEpsilon, 1.0));
  if (spec.width % spec.heads != 0 || spec.width / spec.heads > SpecLimits::kHeadDim ||
      (spec.form->rope && spec.width / spec.heads % 4 != 0)) {
    keys.refuse(Code::Format, "vision.attention.head_count", "is {}, for rows of {} columns",
                spec.heads, spec.width);
  }
  const uint32_t head_dim = spec.width / spec.heads;
  if (keys.count_or("vision.attention.head_dim", head_dim, 1, SpecLimits::kHeadDim) != head_dim ||
      keys.count_or("vision.attention.head_count_kv", spec.heads, 1, SpecLimits::kHeads) !=
          spec.heads) {
    keys.refuse(Code::Unsupported, "vision.attention.head_count",
                "is {}: heads that do not share the {} columns evenly are not computed here",
                spec.heads, spec.width);
  }
  const uint64_t patches = spec.form->most_patches(spec.rules);
  if (patches == 0 || patches > kMostTowerPatches) {
    fail(Code::Format, "{}: tiles of {} patches, not of 1..{}", file.name(), patches,
         kMostTowerPatches);
  }
  spec.most_rows = static_cast<uint32_t>(patches) + (spec.form->class_row ? 1 : 0);
  return spec;
}

TowerTables read_tower_tables(const ModelFile& file, const TowerSpec& spec) {
  TowerTables tables;
  tables.positions = read_positions(file, spec);
  tables.patch_bias = values_of(file, "v.patch_embd.bias", 1, spec.width);
  if (!spec.form->class_row) return tables;
  tables.class_row = values_of(file, "v.class_embd", 1, spec.width);
  if (tables.class_row.empty()) fail_without(file, "v.class_embd");
  return tables;
}

TowerBlocks build_tower_blocks(const ModelFile& file, const TowerSpec& spec,
                               const TowerTables& tables) {
  ProgramBuilder ops;
  TensorBinder tensors(
      file, ops,
      others_than(spec, {"mm.*", "v.position_embd.weight", "v.patch_embd.bias", "v.class_embd"}));
  if (spec.form->rope) ops.position_parts(3);
  CacheGroup group;
  group.layers = spec.layers;
  group.kv_heads = spec.heads;
  group.key_dim = group.value_dim = spec.width / spec.heads;
  group.type = TENON_TYPE_F32;
  ops.cache_group(group);
  const Slot patches = ops.input("patches", TENON_ROWS_TOKENS, spec.patch_values());
  const bool adds =
      !tables.positions.empty() || !tables.patch_bias.empty() || !tables.class_row.empty();
  const Slot added = adds ? ops.input("added to patches", TENON_ROWS_TOKENS, spec.width) : kNoSlot;
  const Slot states = TowerBuilder(spec, tensors, ops).blocks(patches, added);
  return {finish_tower(ops, tensors, states, spec.most_rows), patches, added, states};
}

TowerProjector build_tower_projector(const ModelFile& file, const TowerSpec& spec) {
  ProgramBuilder ops;
  TensorBinder tensors(file, ops,
                       others_than(spec, {"v.*", std::string(spec.form->last_norm) + ".*"}));
  const Slot squares = ops.input("squares of patches", TENON_ROWS_TOKENS, spec.square_values());
  TowerBuilder builder(spec, tensors, ops);
  const Slot rows = spec.form->project(builder, squares);
  const uint64_t most = spec.most_rows / (spec.rules.merge * spec.rules.merge);
  return {finish_tower(ops, tensors, rows, static_cast<uint32_t>(std::max<uint64_t>(1, most))),
          squares, rows};
}

}  // namespace tenon
