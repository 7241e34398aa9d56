// How a family of models wants its pictures: defaults of the family, then keys of the file, then
// options. Numbers come from files, so they are checked before anything is computed with them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "media/pixels.h"
#include "media/resample.h"

namespace tenon {
struct JsonNode;
}

namespace tenon::media {

/// A value of a file; nothing for an absent key.
struct PictureKeys {
  std::optional<uint64_t> patch_size;
  std::optional<uint64_t> merge;         ///< patches along a side that become one row of the tower
  std::optional<uint64_t> image_size;    ///< side of a tile
  std::optional<uint64_t> preproc_size;  ///< another side: see each family's file
  std::optional<uint64_t> min_pixels;
  std::optional<uint64_t> max_pixels;
  std::optional<uint64_t> min_tiles;
  std::optional<uint64_t> max_tiles;
  std::optional<std::array<float, 3>> mean;
  std::optional<std::array<float, 3>> deviation;
};

/// Values in force. Pixels are those of the picture that the tower sees.
struct PictureRules {
  uint64_t patch_size = 0;
  uint64_t merge = 0;
  uint64_t image_size = 0;
  uint64_t preproc_size = 0;
  uint64_t min_pixels = 0;
  uint64_t max_pixels = 0;
  uint64_t min_tiles = 0;
  uint64_t max_tiles = 0;
  Filter filter = Filter::Bicubic;
  std::array<float, 3> mean{0.5F, 0.5F, 0.5F};
  std::array<float, 3> deviation{0.5F, 0.5F, 0.5F};

  /// Side of the square that becomes one row of the tower.
  [[nodiscard]] uint64_t cell() const { return patch_size * merge; }
};

inline constexpr std::array<float, 3> kClipMean{.48145466F, .4578275F, .40821073F};
inline constexpr std::array<float, 3> kClipDeviation{.26862954F, .26130258F, .27577711F};
inline constexpr std::array<float, 3> kImageNetMean{.485F, .456F, .406F};
inline constexpr std::array<float, 3> kImageNetDeviation{.229F, .224F, .225F};

/// The defaults with the keys over them. Throws Format, naming the key as in mmproj files, for a
/// value that no tower has: 0, beyond every model, a minimum above its maximum, a deviation of 0.
PictureRules with_keys(const PictureRules& defaults, const PictureKeys& keys);

/// Readers of a file's metadata; each returns nothing for an absent key.
struct KeyReader {
  std::function<std::optional<uint64_t>(std::string_view key)> count;
  std::function<std::optional<std::array<float, 3>>(std::string_view key)> triple;
};
/// Keys of a mmproj file: `clip.vision.image_size` and so on.
PictureKeys read_projector_keys(const KeyReader& reader);

/// Members of a folder's preprocessor_config.json. Throws Format for a member of another type.
PictureKeys read_preprocessor(const JsonNode& config);

}  // namespace tenon::media
