// Pictures of given cases to tiles, prompts and positions, beside what the models' own processors
// made of them (../shared/multimodal/vectors).
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "decode/decode.h"
#include "file/open.h"
#include "json/json_tree.h"
#include "media/picture_family.h"
#include "media/picture_tiles.h"
#include "tests/media/noise.h"

namespace tenon::media {
namespace {

const std::filesystem::path kCases = std::filesystem::path(TENON_SHARED_DIR) / "multimodal/vectors";

JsonNode read_json(const std::filesystem::path& path) {
  const auto bytes = read_bytes(path);
  return parse_json_tree({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                         path.string());
}

std::vector<float> read_floats(const std::filesystem::path& path) {
  const auto bytes = read_bytes(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

PictureKeys keys_of_file(const std::filesystem::path& path) {
  const auto file = open_model_file(path.string());
  const Metadata& metadata = file->metadata();
  KeyReader reader;
  reader.count = [&](std::string_view key) { return metadata.find<uint64_t>(key); };
  reader.triple = [&](std::string_view key) -> std::optional<std::array<float, 3>> {
    const auto values = metadata.find<std::vector<float>>(key);
    if (!values) return std::nullopt;
    return std::array<float, 3>{(*values)[0], (*values)[1], (*values)[2]};
  };
  return read_projector_keys(reader);
}

/// RGB of an input: as given for lossy files, else decoded here.
RgbPicture read_picture(const std::string& name) {
  const auto bytes = read_bytes(kCases / "inputs" / name);
  const auto decoded = decoding::decode(std::as_bytes(std::span(bytes)), {});
  PixelView view;
  view.channels = decoded.info.channels;
  view.size = {decoded.info.width, decoded.info.height};
  view.data = decoded.pixels();
  RgbPicture picture = to_upright_rgb(System::real(), view, decoded.info.orientation);
  const auto given = read_bytes(kCases / "inputs" / (name + ".rgb"));
  const bool is_lossy = name.ends_with(".jpg");
  if (is_lossy) std::copy(given.begin(), given.end(), picture.row(0));
  return picture;
}

/// Tokens as text: bytes, and control tokens by their names.
std::string text_of(const JsonNode& tokens, const std::map<uint64_t, std::string>& names) {
  std::string text;
  for (const JsonNode& token : tokens.items) {
    if (token.count < 256) text += static_cast<char>(token.count);
    if (token.count >= 256) text += names.at(token.count);
  }
  return text;
}

class GivenCases : public testing::TestWithParam<const char*> {};

TEST_P(GivenCases, BecomeTheSameTiles) {
  const std::filesystem::path folder = kCases / GetParam();
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const JsonNode all = read_json(folder / "cases.json");
  const std::string projector(all.text_of("projector"));
  const PictureFamily* family = find_picture_family(projector.substr(0, projector.find(' ')));
  ASSERT_NE(family, nullptr);
  const PictureRules rules = picture_rules(*family, keys_of_file(folder / "mmproj.gguf"));
  std::map<uint64_t, std::string> names;
  const JsonNode& specials = *all.find("special_tokens");
  for (size_t i = 0; i < specials.items.size(); ++i)
    names[specials.items[i].count] = specials.keys[i];
  // Control tokens that stand in the template's text.
  const std::string bos = names[256] == "<bos>" || names[256] == "<s>" ? names[256] : "";
  int pictures = 0;
  for (size_t i = 0; i < all.find("cases")->items.size(); ++i) {
    const JsonNode& test = all.find("cases")->items[i];
    const std::string base = "case" + std::to_string(i);
    SCOPED_TRACE(base);
    const auto expected = read_floats(folder / (base + ".input.f32"));
    std::string prompt(test.text_of("prompt"));
    size_t from = 0;  // what was spelled for a picture may hold its mark
    size_t at = 0;
    size_t tile_number = 0;
    bool has_sound = false;
    std::vector<GridPosition> positions;
    for (const JsonNode& input : test.find("inputs")->items) {
      if (input.text.ends_with(".wav")) {
        has_sound = true;
        continue;
      }
      ++pictures;
      const RgbPicture picture = read_picture(input.text);
      const PicturePlan plan = plan_picture(*family, picture.size(), rules);
      const PictureTiles tiles(System::real(), picture.view(), plan, rules);
      for (size_t t = 0; t < plan.tiles.size(); ++t, ++tile_number) {
        const JsonNode& shape = test.find("tiles")->items.at(tile_number);
        ASSERT_EQ(plan.tiles[t].size, (Size{shape.items[1].count, shape.items[0].count}));
        const auto values = tiles.tile(t);
        ASSERT_LE(at + values.size(), expected.size());
        double worst = 0;
        for (size_t k = 0; k < values.size(); ++k) {
          worst = std::max<double>(worst, std::abs(values[k] - expected[at + k]));
        }
        EXPECT_LE(worst, 1e-5) << input.text << " tile " << t;
        at += values.size();
      }
      std::string spelled;
      for (const PromptPart& part : plan.prompt) {
        spelled += part.text;
        for (uint64_t k = 0; k < part.num_rows; ++k) spelled += "\x01";
      }
      const size_t place = prompt.find(family->placeholder, from);
      ASSERT_NE(place, std::string::npos);
      prompt.replace(place, family->placeholder.size(), spelled);
      from = place + spelled.size();
      for (const TilePlan& tile : plan.tiles) {
        if (!family->has_grid_positions) continue;
        const auto grid = grid_positions(tile.rows, tile.columns, 0);
        positions.insert(positions.end(), grid.begin(), grid.end());
      }
    }
    if (has_sound) continue;
    EXPECT_EQ(at, expected.size());
    // Rows are spelled by a token of their own in the given text.
    const std::string row_token =
        family->name == "gemma3" ? "<image_soft_token>" : std::string(family->placeholder);
    for (size_t place = 0; (place = prompt.find('\x01', place)) != std::string::npos;) {
      prompt.replace(place, 1, row_token);
      place += row_token.size();
    }
    EXPECT_EQ(bos + prompt, text_of(*test.find("tokens"), names));
    if (!family->has_grid_positions) continue;
    // Rows in the order of the prompt, each picture from its first row's time on.
    size_t row = 0;
    const auto& given = test.find("positions")->items;
    for (size_t k = 0; k < test.find("tokens")->items.size(); ++k) {
      if (names.contains(test.find("tokens")->items[k].count) &&
          names[test.find("tokens")->items[k].count] == row_token) {
        const uint64_t start = given[0].items[k].count;
        ASSERT_LT(row, positions.size());
        EXPECT_EQ(given[1].items[k].count, start + positions[row].row);
        EXPECT_EQ(given[2].items[k].count, start + positions[row].column);
        ++row;
      }
    }
    EXPECT_EQ(row, positions.size());
  }
  EXPECT_GE(pictures, 4);
}

INSTANTIATE_TEST_SUITE_P(Families, GivenCases,
                         testing::Values("qwen3vl", "gemma4", "qwen2.5vl", "gemma3", "mistral3",
                                         "smolvlm", "internvl", "lfm2vl"),
                         [](const auto& family) {
                           std::string name = family.param;
                           std::erase(name, '.');
                           return name;
                         });

TEST(GivenInputs, DecodeToTheSamePictures) {
  if (!std::filesystem::exists(kCases)) GTEST_SKIP() << kCases << " is not there";
  const JsonNode about = read_json(kCases / "inputs/decoded.json");
  ASSERT_GT(about.items.size(), 10U);
  for (size_t i = 0; i < about.items.size(); ++i) {
    const std::string& name = about.keys[i];
    SCOPED_TRACE(name);
    const auto bytes = read_bytes(kCases / "inputs" / name);
    const auto decoded = decoding::decode(std::as_bytes(std::span(bytes)), {});
    PixelView view;
    view.channels = decoded.info.channels;
    view.size = {decoded.info.width, decoded.info.height};
    view.data = decoded.pixels();
    const RgbPicture picture = to_upright_rgb(System::real(), view, decoded.info.orientation);
    EXPECT_EQ(picture.size(),
              (Size{about.items[i].find("width")->count, about.items[i].find("height")->count}));
    const auto given = read_bytes(kCases / "inputs" / (name + ".rgb"));
    if (given.empty()) continue;  // the large one
    ASSERT_EQ(given.size(), picture.size().pixels() * 3);
    int most = 0;
    double sum = 0;
    for (size_t k = 0; k < given.size(); ++k) {
      const int distance = std::abs(given[k] - picture.row(0)[k]);
      most = std::max(most, distance);
      sum += distance;
    }
    const bool is_exact = about.items[i].find("exact")->flag;
    EXPECT_LE(most, is_exact ? 0 : 2);
    EXPECT_LE(sum / static_cast<double>(given.size()), is_exact ? 0 : 0.5);
  }
}

}  // namespace
}  // namespace tenon::media
