// Towers from files of every kind of damage, and the layout of rows between their programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "arch/towers/tower.h"
#include "base/error.h"
#include "file/open.h"
#include "tests/file/gguf_writer.h"

namespace tenon {
namespace {

using testing::HasSubstr;

/// A small file of the kind of SmolVLM; all weights are zeros.
struct SmallTower {
  std::map<std::string, uint64_t> counts = {
      {"image_size", 16},         {"patch_size", 4},
      {"embedding_length", 8},    {"feed_forward_length", 12},
      {"block_count", 3},         {"attention.head_count", 2},
      {"projection_dim", 10},     {"projector.scale_factor", 2},
      {"preproc_image_size", 32},
  };
  std::string type = "idefics3";
  std::string architecture = "clip";
  std::string left_out;  ///< a tensor
  std::string added;     ///< another

  [[nodiscard]] std::shared_ptr<const ModelFile> file() const {
    GgufWriter writer;
    writer.add("general.architecture", architecture);
    writer.add("clip.has_vision_encoder", true);
    writer.add("clip.projector_type", type);
    for (const auto& [key, value] : counts) {
      writer.add("clip.vision." + key, static_cast<uint32_t>(value));
    }
    const auto tensor = [&](const std::string& name, const std::vector<uint64_t>& shape) {
      if (name == left_out) return;
      const uint64_t size =
          std::accumulate(shape.begin(), shape.end(), uint64_t{1}, std::multiplies<>());
      writer.add_tensor(name, shape, std::vector<float>(size));
    };
    tensor("v.patch_embd.weight", {8, 3, 4, 4});
    tensor("v.patch_embd.bias", {8});
    tensor("v.position_embd.weight", {16, 8});
    for (const char* block : {"v.blk.0.", "v.blk.1.", "v.blk.2."}) {
      const std::string in(block);
      for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_out"}) {
        tensor(in + name + ".weight", {8, 8});
        tensor(in + name + ".bias", {8});
      }
      for (const char* name : {"ln1", "ln2"}) {
        tensor(in + name + ".weight", {8});
        tensor(in + name + ".bias", {8});
      }
      tensor(in + "ffn_up.weight", {12, 8});
      tensor(in + "ffn_up.bias", {12});
      tensor(in + "ffn_down.weight", {8, 12});
      tensor(in + "ffn_down.bias", {8});
    }
    tensor("v.post_ln.weight", {8});
    tensor("v.post_ln.bias", {8});
    tensor("mm.model.fc.weight", {10, 32});
    if (!added.empty()) tensor(added, {3});
    bytes = writer.finish();
    return with_flat_filters(*open_model_file(ByteSource::from_memory(bytes, "mmproj.gguf")));
  }
  mutable std::vector<std::byte> bytes;  ///< of the latest file
};

/// The sentence of the error, or "built".
std::string outcome(const SmallTower& tower, uint64_t max_rows = 0) {
  const auto file = tower.file();
  try {
    const TowerSpec spec = read_tower_spec(*file, max_rows);
    const TowerTables tables = read_tower_tables(*file, spec);
    (void)build_tower_blocks(*file, spec, tables);
    (void)build_tower_projector(*file, spec);
    return "built";
  } catch (const Error& error) {
    EXPECT_NE(error.code(), Code::Internal) << error.what();
    return error.what();
  }
}

TEST(Towers, AreBuiltOfWholeFilesAlone) {
  SmallTower tower;
  EXPECT_EQ(outcome(tower), "built");
  for (const char* name : {"v.patch_embd.weight", "v.position_embd.weight", "v.blk.1.ln2.bias",
                           "v.post_ln.weight", "mm.model.fc.weight"}) {
    tower.left_out = name;
    EXPECT_THAT(outcome(tower), HasSubstr(name));
  }
  tower.left_out = {};
  for (const char* name : {"v.blk.0.attn_q_norm.weight", "mm.model.mlp.0.weight"}) {
    tower.added = name;
    EXPECT_THAT(outcome(tower), HasSubstr(name));
  }
  tower.added = "a.blk.0.ln1.weight";  // of another tower
  EXPECT_EQ(outcome(tower), "built");
}

TEST(Towers, RefuseImpossibleKeys) {
  for (const auto& [key, value] : SmallTower().counts) {
    for (const uint64_t bad : {uint64_t{0}, uint64_t{1} << 31, uint64_t{UINT32_MAX}}) {
      SmallTower tower;
      tower.counts[key] = bad;
      EXPECT_THAT(outcome(tower), HasSubstr("mmproj.gguf: ")) << key << " " << bad;
    }
  }
  SmallTower tower;
  tower.counts["attention.head_count"] = 3;
  EXPECT_THAT(outcome(tower), HasSubstr("attention.head_count"));
  tower = {};
  tower.counts["attention.head_count_kv"] = 1;
  EXPECT_THAT(outcome(tower), HasSubstr("attention.head_count"));
  tower = {};
  tower.counts["patch_size"] = 1;
  tower.counts["image_size"] = 32768;
  EXPECT_THAT(outcome(tower), HasSubstr("patches"));
  tower = {};
  tower.counts["image_size"] = 20;
  EXPECT_THAT(outcome(tower), HasSubstr("20"));
}

TEST(Towers, RefuseOtherFilesByName) {
  SmallTower tower;
  tower.type = "qwen3vl_merger";
  EXPECT_THAT(outcome(tower), testing::AllOf(HasSubstr("qwen3vl_merger"), HasSubstr("idefics3")));
  tower.type = "";
  EXPECT_THAT(outcome(tower), HasSubstr("projector"));
  tower = {};
  tower.architecture = "llama";
  EXPECT_THAT(outcome(tower), HasSubstr("llama"));
}

TEST(Towers, KeepTheirPicturesToTheRowsThatAreAllowed) {
  const SmallTower small;
  const TowerSpec spec = read_tower_spec(*small.file(), 8);
  for (const media::Size size : {media::Size{64, 48}, media::Size{1, 29}, media::Size{500, 20}}) {
    EXPECT_LE(plan_picture(*spec.family, size, spec.rules).num_rows(), 8u);
  }
}

/// No tile has more patches than a step has room for.
TEST(Towers, BoundThePatchesOfEveryPicture) {
  SmallTower tower;
  tower.type = "lfm2";
  for (const auto& [least, most] : {std::pair{64u, 256u}, {256u, 1024u}, {16u, 100000u}}) {
    tower.counts["image_min_pixels"] = least;
    tower.counts["image_max_pixels"] = most;
    const TowerSpec spec = read_tower_spec(*tower.file(), 0);
    for (uint64_t width = 1; width < 400; width += 3) {
      for (uint64_t height = 1; height < 400; height += 7) {
        if (std::max(width, height) > 200 * std::min(width, height)) continue;
        for (const auto& tile : plan_picture(*spec.family, {width, height}, spec.rules).tiles) {
          ASSERT_LE(tile.rows * tile.columns * 4, spec.most_rows) << width << " x " << height;
        }
      }
    }
  }
}

TEST(Towers, LayPatchesChannelByChannel) {
  const SmallTower small;
  const TowerSpec spec = read_tower_spec(*small.file(), 0);
  std::vector<float> tile(8 * 12 * 3);
  std::iota(tile.begin(), tile.end(), 0.0f);
  std::vector<float> rows(2 * 3 * 48);
  lay_patches(spec, tile, 2, 3, rows);
  for (size_t patch = 0; patch < 6; ++patch) {
    for (size_t i = 0; i < 48; ++i) {
      const size_t y = patch / 3 * 4 + i % 16 / 4;
      const size_t x = patch % 3 * 4 + i % 4;
      ASSERT_EQ(rows[patch * 48 + i], tile[(y * 12 + x) * 3 + i / 16]);
    }
  }
}

TEST(Towers, LaySquaresOfPatchesSideBySide) {
  const SmallTower small;
  TowerSpec spec = read_tower_spec(*small.file(), 0);
  std::vector<float> states(4 * 6 * 8);
  std::iota(states.begin(), states.end(), 0.0f);
  std::vector<float> squares(states.size());
  lay_squares(spec, states, 4, 6, squares);
  const auto patch_of = [](size_t square, size_t i) {
    return (square / 3 * 2 + i / 2) * 6 + square % 3 * 2 + i % 2;
  };
  for (size_t i = 0; i < squares.size(); ++i) {
    ASSERT_EQ(squares[i], states[patch_of(i / 32, i % 32 / 8) * 8 + i % 8]);
  }
  TowerForm channels = *spec.form;
  channels.channels_outermost = true;
  spec.form = &channels;
  lay_squares(spec, states, 4, 6, squares);
  for (size_t i = 0; i < squares.size(); ++i) {
    ASSERT_EQ(squares[i], states[patch_of(i / 32, i % 4) * 8 + i % 32 / 4]);
  }
}

}  // namespace
}  // namespace tenon
