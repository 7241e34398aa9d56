#include "media/picture_rules.h"

#include <cmath>

#include "base/error.h"
#include "json/json_tree.h"

namespace tenon::media {
namespace {

struct CountKey {
  std::string_view name;  ///< behind "clip.vision."
  std::optional<uint64_t> PictureKeys::*key;
  uint64_t PictureRules::*rule;
  uint64_t most;
};

constexpr uint64_t kMostTiles = 1024;

constexpr std::array<CountKey, 8> kCounts{{
    {"patch_size", &PictureKeys::patch_size, &PictureRules::patch_size, 1024},
    {"spatial_merge_size", &PictureKeys::merge, &PictureRules::merge, 64},
    {"image_size", &PictureKeys::image_size, &PictureRules::image_size, kMaxSide},
    {"preproc_image_size", &PictureKeys::preproc_size, &PictureRules::preproc_size, kMaxSide},
    {"image_min_pixels", &PictureKeys::min_pixels, &PictureRules::min_pixels, kMaxPixels},
    {"image_max_pixels", &PictureKeys::max_pixels, &PictureRules::max_pixels, kMaxPixels},
    {"preproc_min_tiles", &PictureKeys::min_tiles, &PictureRules::min_tiles, kMostTiles},
    {"preproc_max_tiles", &PictureKeys::max_tiles, &PictureRules::max_tiles, kMostTiles},
}};

void check_colours(const std::array<float, 3>& values, bool is_divisor, std::string_view name) {
  for (const float value : values) {
    if (!std::isfinite(value) || (is_divisor && !(value > 0))) {
      fail(Code::Format, "clip.vision.{} has the value {}", name, value);
    }
  }
}

/// A limit of the file moves the default of the other one; two of the file must agree.
void settle(uint64_t& least, uint64_t& most, const std::optional<uint64_t>& least_key,
            const std::optional<uint64_t>& most_key, std::string_view least_name,
            std::string_view most_name) {
  if (least <= most) return;
  if (least_key && most_key) {
    fail(Code::Format, "clip.vision.{} is {}, above {} {}", least_name, least, most_name, most);
  }
  (most_key ? least : most) = most_key ? most : least;
}

const JsonNode* member(const JsonNode* node, std::string_view name) {
  return node == nullptr ? nullptr : node->find(name);
}

void set_count(std::optional<uint64_t>& into, const JsonNode* node, std::string_view name) {
  if (node == nullptr || node->is(JsonNode::Kind::Null)) return;
  if (!node->is_count) {
    fail(Code::Format, "preprocessor_config.json: {} is no whole number above 0", name);
  }
  into = node->count;
}

void set_colours(std::optional<std::array<float, 3>>& into, const JsonNode* node,
                 std::string_view name) {
  if (node == nullptr || node->is(JsonNode::Kind::Null)) return;
  std::array<float, 3> values{};
  if (!node->is(JsonNode::Kind::Array) || node->items.size() != values.size()) {
    fail(Code::Format, "preprocessor_config.json: {} is no list of 3 numbers", name);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!node->items[i].is(JsonNode::Kind::Number)) {
      fail(Code::Format, "preprocessor_config.json: {} is no list of 3 numbers", name);
    }
    values[i] = static_cast<float>(node->items[i].number);
  }
  into = values;
}

}  // namespace

PictureRules with_keys(const PictureRules& defaults, const PictureKeys& keys) {
  PictureRules rules = defaults;
  for (const CountKey& key : kCounts) {
    const auto& given = keys.*key.key;
    if (!given) continue;
    if (*given < 1 || *given > key.most) {
      fail(Code::Format, "clip.vision.{} is {}, not in 1..{}", key.name, *given, key.most);
    }
    rules.*key.rule = *given;
  }
  if (keys.mean) rules.mean = *keys.mean;
  if (keys.deviation) rules.deviation = *keys.deviation;
  check_colours(rules.mean, false, "image_mean");
  check_colours(rules.deviation, true, "image_std");
  settle(rules.min_pixels, rules.max_pixels, keys.min_pixels, keys.max_pixels, "image_min_pixels",
         "image_max_pixels");
  settle(rules.min_tiles, rules.max_tiles, keys.min_tiles, keys.max_tiles, "preproc_min_tiles",
         "preproc_max_tiles");
  return rules;
}

PictureKeys read_projector_keys(const KeyReader& reader) {
  const std::string prefix = "clip.vision.";
  PictureKeys keys;
  for (const CountKey& key : kCounts) keys.*key.key = reader.count(prefix + std::string(key.name));
  if (const auto scale = reader.count(prefix + "projector.scale_factor")) keys.merge = scale;
  keys.mean = reader.triple(prefix + "image_mean");
  keys.deviation = reader.triple(prefix + "image_std");
  return keys;
}

PictureKeys read_preprocessor(const JsonNode& config) {
  PictureKeys keys;
  const JsonNode* size = config.find("size");
  const auto count = [&](std::optional<uint64_t>& into, const JsonNode* node,
                         std::string_view name) { set_count(into, node, name); };
  count(keys.patch_size, config.find("patch_size"), "patch_size");
  count(keys.merge, config.find("merge_size"), "merge_size");
  count(keys.merge, config.find("downsample_factor"), "downsample_factor");
  count(keys.merge, config.find("pooling_kernel_size"), "pooling_kernel_size");
  count(keys.min_pixels, member(size, "shortest_edge"), "size.shortest_edge");
  count(keys.max_pixels, member(size, "longest_edge"), "size.longest_edge");
  count(keys.min_pixels, config.find("min_pixels"), "min_pixels");
  count(keys.max_pixels, config.find("max_pixels"), "max_pixels");
  count(keys.image_size, member(size, "height"), "size.height");
  count(keys.image_size, member(config.find("max_image_size"), "longest_edge"),
        "max_image_size.longest_edge");
  count(keys.preproc_size, config.find("tile_size"), "tile_size");
  count(keys.min_tiles, config.find("min_tiles"), "min_tiles");
  count(keys.max_tiles, config.find("max_tiles"), "max_tiles");
  count(keys.min_tiles, config.find("min_patches"), "min_patches");
  count(keys.max_tiles, config.find("max_patches"), "max_patches");
  set_colours(keys.mean, config.find("image_mean"), "image_mean");
  set_colours(keys.deviation, config.find("image_std"), "image_std");
  return keys;
}

}  // namespace tenon::media
