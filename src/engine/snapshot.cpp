// Saves and restores sessions, piece by piece.
#include "engine/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "base/byte_source.h"
#include "base/checked.h"
#include "base/utf8.h"
#include "engine/leading_pieces.h"
#include "engine/session.h"
#include "engine/session_use.h"
#include "model/placed_executable.h"
#include "program/cache_types.h"

namespace tenon {
namespace {

constexpr std::string_view kMagic = "TENONSES";
constexpr uint32_t kByteOrder = 0x01020304;
constexpr uint64_t kPieceBytes = uint64_t{1} << 18;  // bytes of tokens read at a time
constexpr uint64_t kSumBytes = 16;

std::string cache_text(const Model& model) {
  std::string text = fmt::format("{}, {}", model.backend_name(), model.device_description());
  const auto groups = model.program().groups();
  for (uint32_t i = 0; i < groups.size(); ++i) {
    const tenon_cache_group& group = groups[i];
    const uint64_t bytes = model.executable().block_bytes(i);
    if (group.kind == TENON_CACHE_STATE) {
      text += fmt::format("; state of {} layers, {} values, {} bytes", group.layers,
                          group.state_values, bytes);
      continue;
    }
    const CacheTypeInfo* type = find_cache_type(group.type);
    text += fmt::format("; {} cache of {} layers, {} heads of {} + {}, {} bytes for {}",
                        type != nullptr ? type->name : "unknown", group.layers, group.kv_heads,
                        group.key_dim, group.value_dim, bytes, group.block_tokens);
    if (group.window > 0) {
      text += fmt::format(" of the last {}", group.window);
    }
    if (group.kind == TENON_CACHE_LATENT) text += ", latent";
    if (group.kind == TENON_CACHE_CROSS) text += ", of a source";
    if (group.kind == TENON_CACHE_LATENT && group.stride > 1)
      text += fmt::format(", of every {}", group.stride);
  }
  // LongRoPE rotates keys by one of two tables, chosen by context length.
  if (const uint32_t most = model.spec().short_context(); most > 0) {
    text += fmt::format("; for texts of {} than {}",
                        model.default_context() > most ? "more" : "no more", most);
  }
  return text;
}

/// Writes to a sink and hashes the bytes.
class SummingWriter {
 public:
  explicit SummingWriter(const SnapshotSink& sink) : sink_(sink) {}
  void write(std::span<const std::byte> bytes) {
    hasher_.add(bytes);
    sink_(bytes);
  }
  void finish() {
    const Hash128 sum = hasher_.value();
    const std::array<uint64_t, 2> halves{sum.low, sum.high};
    sink_(std::as_bytes(std::span(halves)));
  }

 private:
  const SnapshotSink& sink_;
  Hasher hasher_;
};

/// Serialises a header, little-endian.
std::vector<std::byte> header_bytes(const SnapshotHeader& header) {
  std::vector<std::byte> out;
  const auto put = [&out](const auto& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    out.insert(out.end(), bytes.begin(), bytes.end());
  };
  const auto put_text = [&out](std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    out.insert(out.end(), bytes.begin(), bytes.end());
  };
  put_text(kMagic);
  put(SnapshotHeader::kVersion);
  put(kByteOrder);
  put(header.model.low);
  put(header.model.high);
  put(header.num_tokens);
  put(header.num_generated);
  put(header.position);
  put(header.block_tokens);
  put(static_cast<uint32_t>(header.cache.size()));
  put_text(header.cache);
  put(header.seed);
  put(header.num_source_tokens);
  return out;
}

/// Reads a source from its beginning and hashes the bytes.
class SummingReader {
 public:
  explicit SummingReader(const ByteSource& source) : source_(source) {}
  void read(std::span<std::byte> out, std::string_view what) {
    if (out.size() > left()) {
      fail(Code::Format, "{}: ends at byte {} inside {} (needs {} bytes at {})", source_.name(),
           source_.size(), what, out.size(), offset_);
    }
    source_.read(offset_, out);
    hasher_.add(out);
    offset_ += out.size();
  }
  [[nodiscard]] uint64_t left() const { return source_.size() - offset_; }
  /// Checks the end of the source. Throws Format for a wrong checksum.
  void check_sum() {
    const Hash128 sum = hasher_.value();
    std::array<uint64_t, 2> halves{};
    read(std::as_writable_bytes(std::span(halves)), "the checksum");
    if (halves[0] != sum.low || halves[1] != sum.high) {
      fail(Code::Format, "{}: the checksum does not fit; the snapshot is damaged or cut short",
           source_.name());
    }
  }

 private:
  const ByteSource& source_;
  Hasher hasher_;
  uint64_t offset_ = 0;
};

SnapshotHeader read_header(SummingReader& reader, const std::string& name) {
  std::array<std::byte, SnapshotHeader::kFixedBytes> bytes{};
  reader.read(bytes, "the header of a snapshot");
  ByteReader fields(bytes, name);
  const auto magic = fields.take(kMagic.size(), "magic");
  if (std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0) {
    fail(Code::Format, "{}: is no snapshot of a session: it does not begin with {}", name, kMagic);
  }
  const auto version = fields.read<uint32_t>("version");
  if (fields.read<uint32_t>("byte order") != kByteOrder) {
    fail(Code::Format, "{}: a snapshot in another order of bytes", name);
  }
  if (version < SnapshotHeader::kOldestVersion || version > SnapshotHeader::kVersion) {
    fail(Code::Format, "{}: snapshot of version {}, this library reads {} to {}", name, version,
         SnapshotHeader::kOldestVersion, SnapshotHeader::kVersion);
  }
  SnapshotHeader header;
  header.model.low = fields.read<uint64_t>("model");
  header.model.high = fields.read<uint64_t>("model");
  header.num_tokens = fields.read<uint64_t>("tokens");
  header.num_generated = fields.read<uint64_t>("generated tokens");
  header.position = fields.read<uint64_t>("computed tokens");
  header.block_tokens = fields.read<uint32_t>("block tokens");
  const auto length = fields.read<uint32_t>("length of the cache text");
  if (length > SnapshotHeader::kMaxCacheText) {
    fail(Code::Format, "{}: cache text of {} bytes, the limit is {}", name, length,
         SnapshotHeader::kMaxCacheText);
  }
  header.cache.resize(length);
  reader.read(std::as_writable_bytes(std::span(header.cache)), "the cache text");
  if (version == SnapshotHeader::kVersion) {
    reader.read(std::as_writable_bytes(std::span(&header.seed, 1)), "the seed");
    if (header.seed < -1) fail(Code::Format, "{}: the seed is {}", name, header.seed);
  }
  if (version >= SnapshotHeader::kSourceVersion) {
    reader.read(std::as_writable_bytes(std::span(&header.num_source_tokens, 1)),
                "the size of the source");
  }
  return header;
}

/// Bytes of the blocks after the tokens. Throws Format for inconsistent numbers.
uint64_t checked_block_bytes(const SnapshotHeader& header, const SummingReader& reader,
                             const std::string& name) {
  const uint64_t num_tokens =
      checked_add(header.num_tokens, header.num_source_tokens, "tokens of a snapshot");
  const uint64_t tokens_bytes = checked_mul(num_tokens, sizeof(Token), "tokens of a snapshot");
  const uint64_t others = checked_add(tokens_bytes, kSumBytes, "tokens of a snapshot");
  if (others > reader.left()) {
    fail(Code::Format, "{}: {} tokens do not fit the {} bytes that are left", name, num_tokens,
         reader.left());
  }
  const uint64_t block_bytes = reader.left() - others;
  if (header.block_tokens == 0 || header.position > header.num_tokens ||
      (header.position == 0 && block_bytes > 0)) {
    fail(Code::Format, "{}: {} bytes are no blocks for {} of {} tokens", name, block_bytes,
         header.position, header.num_tokens);
  }
  if (header.num_generated > header.num_tokens) {
    fail(Code::Format, "{}: {} of {} tokens generated", name, header.num_generated,
         header.num_tokens);
  }
  return block_bytes;
}

/// The pieces of a snapshot that continues at a position.
class Pieces {
 public:
  Pieces(const Engine& engine, uint64_t position) : engine_(engine), position_(position) {
    if (position == 0) return;
    count_ = position / engine.block_tokens() + 1;
    // Late pieces are the largest: windows have begun there.
    largest_ = std::max(bytes(count_ - 1), count_ > 1 ? bytes(count_ - 2) : 0);
  }
  [[nodiscard]] uint64_t size() const { return count_; }
  [[nodiscard]] uint64_t largest_bytes() const { return largest_; }
  [[nodiscard]] SnapshotPiece operator[](uint64_t index) const { return {position_, index}; }
  [[nodiscard]] uint64_t bytes(uint64_t index) const {
    return engine_.piece_bytes({position_, index});
  }
  [[nodiscard]] uint64_t all_bytes() const {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count_; ++i) sum += bytes(i);
    return sum;
  }

 private:
  const Engine& engine_;
  uint64_t position_;
  uint64_t count_ = 0;
  uint64_t largest_ = 0;
};

/// Reads and discards everything before the checksum.
void skip(SummingReader& reader, uint64_t size_bytes) {
  std::vector<std::byte> part(std::min(size_bytes, kPieceBytes));
  while (size_bytes > 0) {
    const auto next = std::span(part).first(std::min<uint64_t>(size_bytes, part.size()));
    reader.read(next, "the blocks");
    size_bytes -= next.size();
  }
}

/// Number of pieces in `size_bytes`, from the first on. Throws Format for a partial piece.
uint64_t count_pieces(const Pieces& pieces, uint64_t size_bytes, const std::string& name) {
  uint64_t count = 0;
  uint64_t sum = 0;
  while (count < pieces.size() && sum + pieces.bytes(count) <= size_bytes) {
    sum += pieces.bytes(count++);
  }
  if (sum != size_bytes) {
    fail(Code::Format, "{}: {} bytes are no blocks of a snapshot", name, size_bytes);
  }
  return count;
}

/// Fills a session's cache as far as memory allows. Missing blocks are computed when needed.
void read_pieces(Engine& engine, CallControl& session, const Pieces& pieces, uint64_t count,
                 SummingReader& reader) {
  Buffer room(engine.model().options().system, count == 0 ? 0 : pieces.largest_bytes(),
              "block of a snapshot");
  bool has_room = true;
  for (uint64_t i = 0; i < count; ++i) {
    const auto piece = room.span().first(pieces.bytes(i));
    reader.read(piece, "the blocks");
    has_room = has_room && engine.write_piece(session, pieces[i], piece);
  }
  engine.end_restore(session);
}

}  // namespace

SnapshotIdentity snapshot_identity(const Model& model) {
  return {model.fingerprint(), cache_text(model)};
}

SnapshotHeader Session::snapshot_header() {
  const SnapshotIdentity& identity = engine_->snapshot_identity();
  SnapshotHeader header;
  header.model = adapted_model(identity.model);
  header.cache = identity.cache;
  header.num_source_tokens = sequence_.source().size();
  header.num_tokens = sequence_.size();
  header.num_generated = answer_.num_generated();
  if (const auto seed = answer_.seed()) header.seed = static_cast<int64_t>(*seed);
  header.position = engine_->snapshot_position(*control_);
  header.block_tokens = engine_->block_tokens();
  return header;
}

uint64_t Session::snapshot_bytes() {
  const Use use(*this);
  refuse_pictures("saved");
  const SnapshotHeader header = snapshot_header();
  return header_bytes(header).size() +
         (header.num_source_tokens + header.num_tokens) * sizeof(Token) +
         Pieces(*engine_, header.position).all_bytes() + kSumBytes;
}

void Session::save(const SnapshotSink& sink) {
  const Use use(*this);
  refuse_pictures("saved");
  const SnapshotHeader header = snapshot_header();
  const Pieces pieces(*engine_, header.position);
  Buffer room(model().options().system, pieces.largest_bytes(), "block of a snapshot");
  SummingWriter writer(sink);
  writer.write(header_bytes(header));
  writer.write(std::as_bytes(sequence_.source()));
  writer.write(std::as_bytes(sequence_.tokens()));
  // Other requests may take blocks meanwhile, last blocks first: the pieces read so far are still a
  // snapshot.
  take_leading_pieces(pieces.size(), [&](uint64_t index) {
    const auto piece = room.span().first(pieces.bytes(index));
    if (!engine_->read_piece(sequence_, pieces[index], piece)) return false;
    if (!piece.empty()) writer.write(piece);
    return true;
  });
  writer.finish();
}

/// Requires a source for encoder-decoders, readable by the encoder, and none for other models.
void Session::check_source(const SnapshotHeader& header, const std::string& name) const {
  const ModelProgram* encoder = model().find(ProgramRole::Encoder);
  const uint64_t most = encoder != nullptr ? encoder->program.view().max_tokens : 0;
  const bool is_missing = most > 0 && header.num_source_tokens == 0 && header.num_tokens > 0;
  if (header.num_source_tokens <= most && !is_missing) return;
  fail(Code::Format, "{}: {} tokens after a source of {}, of which the model reads up to {}", name,
       header.num_tokens, header.num_source_tokens, most);
}

void Session::restore(const ByteSource& source, bool text_only_if_cache_differs) {
  const Use use(*this);
  const SnapshotIdentity& identity = engine_->snapshot_identity();
  const std::string& name = source.name();
  SummingReader reader(source);
  const SnapshotHeader header = read_header(reader, name);
  if (const Hash128 own = adapted_model(identity.model); header.model != own) {
    fail(Code::Format, "{}: a snapshot of another model or other adapters: {}, this one is {}",
         name, header.model.hex(), own.hex());
  }
  const bool same_cache =
      header.cache == identity.cache && header.block_tokens == engine_->block_tokens();
  if (!same_cache && !text_only_if_cache_differs) {
    fail(Code::Format, "{}: a snapshot of another cache: {}, this one is {}", name,
         quoted(header.cache, SnapshotHeader::kMaxCacheText),
         quoted(identity.cache, SnapshotHeader::kMaxCacheText));
  }
  const uint64_t block_bytes = checked_block_bytes(header, reader, name);
  const Pieces pieces(*engine_, same_cache ? header.position : 0);
  const uint64_t num_pieces = same_cache ? count_pieces(pieces, block_bytes, name) : 0;

  // Restores into a separate session, which replaces this one at the end.
  const std::unique_ptr<Session> restored = empty_like();
  if (header.num_tokens > context()) {
    fail(Code::Limit, "tokens {} > context {}", header.num_tokens, context());
  }
  const auto read_tokens = [&](std::span<Token> out) {
    reader.read(std::as_writable_bytes(out), "the tokens");
    for (const Token token : out) {
      if (token >= 0 && static_cast<uint64_t>(token) < vocab()) continue;
      fail(Code::Format, "{}: token {} is outside 0..{}", name, token, vocab() - 1);
    }
  };
  check_source(header, name);
  if (header.num_source_tokens > 0) {
    std::vector<Token> source_tokens(header.num_source_tokens);
    read_tokens(source_tokens);
    restored->sequence_.set_source(source_tokens);
  }
  std::vector<Token> tokens(std::min(header.num_tokens, kPieceBytes / sizeof(Token)));
  for (uint64_t left = header.num_tokens; left > 0;) {
    const auto piece = std::span(tokens).first(std::min<uint64_t>(left, tokens.size()));
    read_tokens(piece);
    restored->sequence_.append(piece);
    left -= piece.size();
  }
  if (same_cache) {
    read_pieces(*engine_, *restored->control_, pieces, num_pieces, reader);
  } else {
    skip(reader, block_bytes);
  }
  reader.check_sum();
  const uint64_t lost = same_cache ? 0 : header.position;
  restored->answer_.resume(restored->sequence_.tokens(), header.num_generated);
  std::optional<uint64_t> seed;
  if (header.seed >= 0) seed = static_cast<uint64_t>(header.seed);
  restored->answer_.set_seed(seed);
  engine_->with_sequences(*control_, *restored->control_, [&] {
    if (lost > 0) restored->sequence_.set_lost({lost, PrefixMiss::Cause::CacheType});
    sequence_.swap(restored->sequence_);
  });
  std::swap(answer_, restored->answer_);
  latest_seed_ = seed;
  logits_position_ = kNoLogits;
  forget_ahead();
  last_is_generated_ = false;
}

}  // namespace tenon
