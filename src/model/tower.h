// The tower of a model: turns pictures into rows that stand in a text in place of embeddings. It is
// read from a mmproj file and runs on the device of the trunk's logits.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "arch/towers/tower.h"
#include "backend/device_turn.h"
#include "base/buffer.h"
#include "base/hash.h"
#include "base/sha256.h"
#include "base/thread_team.h"
#include "media/picture_plan.h"
#include "media/pixels.h"
#include "model/model_options.h"
#include "model/model_program.h"
#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// What a picture becomes in a prompt: tokens, some of which the tower's rows stand for. Known from
/// the picture's size alone.
struct PictureText {
  std::vector<Token> tokens;
  /// Consecutive tokens and consecutive rows.
  struct Run {
    uint64_t first = 0;  ///< index in tokens
    uint64_t first_row = 0;
    uint64_t count = 0;
  };
  std::vector<Run> runs;
};

/// Rows of a picture. Immutable.
struct EncodedPicture {
  Digest256 digest{};  ///< names tower, tiles and their bytes; equal pictures have equal rows
  Buffer values;       ///< [rows, width] f32
  uint64_t width = 0;

  [[nodiscard]] std::span<const float> rows(uint64_t first, uint64_t count) const {
    return std::span(reinterpret_cast<const float*>(values.data()), values.size() / sizeof(float))
        .subspan(first * width, count * width);
  }
};

class Model;

/// Immutable but for its cache of encoded pictures; any thread.
class Tower {
 public:
  /// Opens a mmproj file for a model. Throws as read_tower_spec and build_tower, and Argument if its
  /// rows are not as wide as the text's or the vocabulary lacks its marks.
  Tower(const ModelOptions& options, const ModelSpec& text, const std::string& model_name,
        const Tokenizer& tokenizer);

  /// Compiles the programs. Throws as PlacedExecutable.
  void compile(const PlacedExecutable& trunk);
  /// Loads the weights. Throws as load_weights.
  void load(ThreadTeam& team);

  [[nodiscard]] const TowerSpec& spec() const { return spec_; }
  [[nodiscard]] const ModelFile& file() const { return *file_; }
  /// The token that rows stand for.
  [[nodiscard]] Token row_token() const { return row_token_; }
  /// Identifies its weights and limits; zero before load().
  [[nodiscard]] const Hash128& fingerprint() const { return fingerprint_; }
  [[nodiscard]] std::span<const ModelProgram> programs() const { return programs_; }

  /// Plans a picture. Throws Limit for a size that the family does not take.
  [[nodiscard]] media::PicturePlan plan(media::Size size) const;
  [[nodiscard]] PictureText text_of(const media::PicturePlan& plan) const;
  /// Resizes and encodes a picture, tile by tile, or finds it in the cache. Waits for the device's
  /// turn before each tile. Throws NoMemory, Cancelled, and the backend's errors.
  ///   cancel  a flag that any thread may set, or null
  [[nodiscard]] std::shared_ptr<const EncodedPicture> encode(media::RgbView picture,
                                                             const media::PicturePlan& plan,
                                                             DeviceTurn& turn,
                                                             const uint32_t* cancel) const;
  /// Pictures that were encoded, not found.
  [[nodiscard]] uint64_t num_encoded() const { return num_encoded_.load(); }

 private:
  [[nodiscard]] Digest256 digest_of(const media::PicturePlan& plan,
                                    std::span<const float> tiles) const;
  void encode_tile(const media::TilePlan& tile, std::span<const float> values,
                   std::span<float> rows, const uint32_t* cancel) const;
  [[nodiscard]] std::shared_ptr<const EncodedPicture> find(const Digest256& digest) const;
  void keep(const std::shared_ptr<const EncodedPicture>& picture) const;

  std::shared_ptr<System> system_;
  std::shared_ptr<const ModelFile> file_;
  const Tokenizer& tokenizer_;
  TowerSpec spec_;
  Token row_token_ = 0;
  uint64_t cache_bytes_;
  Hash128 fingerprint_;
  TowerTables tables_;
  std::vector<ModelProgram> programs_;  // blocks, projector
  // Inputs and results of both.
  uint32_t patches_;
  uint32_t added_;  // TENON_NO_SLOT: none
  uint32_t states_;
  uint32_t squares_;
  uint32_t rows_;
  mutable std::mutex mutex_;                                         // guards the cache
  mutable std::list<std::shared_ptr<const EncodedPicture>> cached_;  // the latest first
  mutable uint64_t cached_bytes_ = 0;
  mutable std::atomic<uint64_t> num_encoded_{0};
};

/// The tower of a model. Throws State if it has none.
const Tower& tower_of(const Model& model);

}  // namespace tenon
