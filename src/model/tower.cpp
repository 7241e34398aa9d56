#include "model/tower.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "file/open.h"
#include "media/picture_tiles.h"
#include "model/model.h"
#include "model/model_fingerprint.h"
#include "model/program_runner.h"
#include "weights/loader.h"

namespace tenon {
namespace {

uint32_t slot_number(Slot slot) { return static_cast<uint32_t>(slot); }

/// The one token that a text spells.
Token token_of(const Tokenizer& tokenizer, std::string_view text, const std::string& model_name,
               const std::string& projector) {
  const std::vector<Token> tokens = tokenizer.encode(text, {.parse_special = true});
  if (tokens.size() == 1) return tokens.front();
  fail(Code::Argument, "{}: the vocabulary of {} has no token {}, which stands for its rows",
       projector, model_name, quoted(text));
}

}  // namespace

const Tower& tower_of(const Model& model) {
  if (model.tower() != nullptr) return *model.tower();
  fail(Code::State, "{}: the model was opened without a tower for pictures (option projector)",
       model.file().name());
}

Tower::Tower(const ModelOptions& options, const ModelSpec& text, const std::string& model_name,
             const Tokenizer& tokenizer)
    : system_(options.system),
      file_(with_flat_filters(*open_model_file(options.projector, {options.system, {}}))),
      tokenizer_(tokenizer),
      spec_(read_tower_spec(*file_, options.image_max_tokens)),
      cache_bytes_(options.picture_cache_bytes) {
  if (spec_.text_width != text.width) {
    fail(Code::Argument,
         "{}: its rows have {} columns, the text of {} has {}: it belongs to another model",
         file_->name(), spec_.text_width, model_name, text.width);
  }
  row_token_ = token_of(tokenizer, spec_.family->placeholder, model_name, file_->name());
  tables_ = read_tower_tables(*file_, spec_);
  TowerBlocks blocks = build_tower_blocks(*file_, spec_, tables_);
  TowerProjector projector = build_tower_projector(*file_, spec_);
  patches_ = slot_number(blocks.patches);
  added_ = slot_number(blocks.added);
  states_ = slot_number(blocks.states);
  squares_ = slot_number(projector.squares);
  rows_ = slot_number(projector.rows);
  programs_.push_back(make_model_program(ProgramRole::Vision, 0, std::move(blocks.built)));
  programs_.push_back(make_model_program(ProgramRole::Vision, 1, std::move(projector.built)));
  programs_[0].private_positions = spec_.most_rows;
}

void Tower::compile(const PlacedExecutable& trunk) {
  for (ModelProgram& one : programs_) {
    one.executable = std::make_unique<PlacedExecutable>(PlacedDevice{trunk.device()}, one.program);
  }
}

void Tower::load(ThreadTeam& team) {
  TensorSamples samples(*file_);
  for (ModelProgram& one : programs_) {
    LoadOptions load;
    load.team = &team;
    load.system = system_;
    load.samples = &samples;
    load_weights(*file_, one.weights, *one.executable, load);
    one.executable->seal();
    one.weights = {};
  }
  samples.read_rest();
  fingerprint_ = model_fingerprint(*file_, samples);
}

media::PicturePlan Tower::plan(media::Size size) const {
  media::PicturePlan plan = plan_picture(*spec_.family, size, spec_.rules);
  const uint64_t first = spec_.form->class_row ? 1 : 0;
  for (const media::TilePlan& tile : plan.tiles) {
    const uint64_t patches = tile.rows * tile.columns * spec_.rules.merge * spec_.rules.merge;
    if (patches + first <= spec_.most_rows) continue;
    fail(Code::Limit, "a picture of {} x {} has a tile of {} patches, the limit is {}", size.width,
         size.height, patches, spec_.most_rows - first);
  }
  return plan;
}

/// Texts beside each other are tokenized as one: a tokenizer may join their ends.
PictureText Tower::text_of(const media::PicturePlan& plan) const {
  std::vector<uint64_t> first_rows;
  uint64_t rows = 0;
  for (const media::TilePlan& tile : plan.tiles) {
    first_rows.push_back(rows);
    rows += tile.rows * tile.columns;
  }
  PictureText result;
  std::string text;
  const auto flush = [&] {
    if (text.empty()) return;
    const std::vector<Token> tokens = tokenizer_.encode(text, {.parse_special = true});
    result.tokens.insert(result.tokens.end(), tokens.begin(), tokens.end());
    text.clear();
  };
  for (const media::PromptPart& part : plan.prompt) {
    text += part.text;
    if (!part.text.empty()) continue;
    flush();
    result.runs.push_back(
        {result.tokens.size(), first_rows[part.tile] + part.first_row, part.num_rows});
    result.tokens.insert(result.tokens.end(), part.num_rows, row_token_);
  }
  flush();
  return result;
}

Digest256 Tower::digest_of(const media::PicturePlan& plan, std::span<const float> tiles) const {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(&fingerprint_, 1)));
  hash.add(std::as_bytes(std::span(spec_.family->name)));
  for (const media::TilePlan& tile : plan.tiles) {
    const uint64_t sides[] = {tile.size.width, tile.size.height};
    hash.add(std::as_bytes(std::span(sides)));
  }
  hash.add(std::as_bytes(tiles));
  return hash.finish();
}

void Tower::encode_tile(const media::TilePlan& tile, std::span<const float> values,
                        std::span<float> rows, const uint32_t* cancel) const {
  const uint64_t merge = spec_.rules.merge;
  const uint64_t high = tile.rows * merge;
  const uint64_t wide = tile.columns * merge;
  const uint64_t first = spec_.form->class_row ? 1 : 0;
  const auto count = static_cast<uint32_t>(first + high * wide);
  const std::vector<Token> tokens(count);  // no operation reads them
  Buffer patches(system_, count * spec_.patch_values() * sizeof(float), "patches of a picture");
  const std::span<float> patch_rows(reinterpret_cast<float*>(patches.data()),
                                    count * spec_.patch_values());
  lay_patches(spec_, values, high, wide, patch_rows);
  std::vector<float> added;
  if (added_ != TENON_NO_SLOT) added = rows_added(spec_, tables_, high, wide);
  std::vector<int32_t> positions;
  if (programs_[0].program.view().position_parts == 3) {
    for (uint64_t i = 0; i < high * wide; ++i) {
      positions.insert(positions.end(), {static_cast<int32_t>(i), static_cast<int32_t>(i / wide),
                                         static_cast<int32_t>(i % wide)});
    }
  }
  ProgramRunner blocks(programs_[0], {}, system_);
  blocks.add({.text = tokens, .num_tokens = count, .positions = positions});
  blocks.bind(patches_, patch_rows.data());
  if (added_ != TENON_NO_SLOT) blocks.bind(added_, added.data());
  const std::span<const float> states = blocks.bind_own(states_, "rows of a tower");
  blocks.run(cancel);

  const auto num_rows = static_cast<uint32_t>(tile.rows * tile.columns);
  Buffer squares(system_, num_rows * spec_.square_values() * sizeof(float), "squares of a picture");
  const std::span<float> square_rows(reinterpret_cast<float*>(squares.data()),
                                     num_rows * spec_.square_values());
  lay_squares(spec_, states, high, wide, square_rows);
  ProgramRunner projector(programs_[1], {}, system_);
  projector.add({.text = std::span(tokens).first(num_rows), .num_tokens = num_rows});
  projector.bind(squares_, square_rows.data());
  projector.bind(rows_, rows.data());
  projector.run(cancel);
}

std::shared_ptr<const EncodedPicture> Tower::encode(media::RgbView picture,
                                                    const media::PicturePlan& plan,
                                                    DeviceTurn& turn,
                                                    const uint32_t* cancel) const {
  const media::PictureTiles tiles(system_, picture, plan, spec_.rules);
  const Digest256 digest = digest_of(plan, tiles.values());
  if (auto found = find(digest)) return found;
  auto encoded = std::make_shared<EncodedPicture>();
  encoded->digest = digest;
  encoded->width = spec_.text_width;
  encoded->values =
      Buffer(system_, plan.num_rows() * encoded->width * sizeof(float), "rows of a picture");
  auto* to = reinterpret_cast<float*>(encoded->values.data());
  for (size_t i = 0; i < plan.tiles.size(); ++i) {
    const media::TilePlan& tile = plan.tiles[i];
    const uint64_t size = tile.rows * tile.columns * encoded->width;
    const DeviceTurn::Use use(turn, {*system_, UINT64_MAX, cancel});
    if (!use.has_turn()) fail(Code::Cancelled, "picture: cancelled after {} tiles", i);
    encode_tile(tile, tiles.tile(i), {to, size}, cancel);
    to += size;
  }
  ++num_encoded_;
  keep(encoded);
  return encoded;
}

std::shared_ptr<const EncodedPicture> Tower::find(const Digest256& digest) const {
  const std::scoped_lock lock(mutex_);
  const auto found =
      std::ranges::find_if(cached_, [&](const auto& picture) { return picture->digest == digest; });
  if (found == cached_.end()) return nullptr;
  cached_.splice(cached_.begin(), cached_, found);
  return cached_.front();
}

void Tower::keep(const std::shared_ptr<const EncodedPicture>& picture) const {
  const uint64_t size = picture->values.size();
  if (size > cache_bytes_) return;
  const std::scoped_lock lock(mutex_);
  cached_.push_front(picture);
  for (cached_bytes_ += size; cached_bytes_ > cache_bytes_; cached_.pop_back()) {
    cached_bytes_ -= cached_.back()->values.size();
  }
}

}  // namespace tenon
