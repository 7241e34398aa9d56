// Saving and restoring of sessions, piece by piece.
#include "engine/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "backend/executable.h"
#include "base/byte_reader.h"
#include "base/byte_source.h"
#include "base/checked.h"
#include "base/utf8.h"
#include "engine/session.h"
#include "engine/session_use.h"
#include "program/cache_types.h"

namespace tenon {
namespace {

constexpr std::string_view kMagic = "TENONSES";
constexpr uint32_t kByteOrder = 0x01020304;
constexpr uint64_t kPieceBytes = uint64_t{1} << 18;  // of tokens read at a time
constexpr uint64_t kSumBytes = 16;

std::string cache_text(const Model& model) {
  std::string text = fmt::format("{}, {}", model.backend_name(), model.executable().device()->description());
  const auto groups = model.program().groups();
  for (uint32_t i = 0; i < groups.size(); ++i) {
    const tenon_cache_group& group = groups[i];
    const CacheTypeInfo* type = find_cache_type(group.type);
    fmt::format_to(
        std::back_inserter(text), "; {} cache of {} layers, {} heads of {} + {}, {} bytes for {}",
        type != nullptr ? type->name : "unknown", group.layers, group.kv_heads, group.key_dim,
        group.value_dim, model.executable().block_bytes(i), group.block_tokens);
  }
  return text;
}

/// Writes to a sink and sums up what it writes.
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

/// The little-endian bytes of a header.
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
  put(header.block_bytes);
  put(header.block_tokens);
  put(static_cast<uint32_t>(header.cache.size()));
  put_text(header.cache);
  return out;
}

/// Reads a source from its beginning and sums up what it reads.
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
  /// The end: throws Format when the sum that stands there is another one.
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
  if (version != SnapshotHeader::kVersion) {
    fail(Code::Format, "{}: snapshot of version {}, this library reads {}", name, version,
         SnapshotHeader::kVersion);
  }
  SnapshotHeader header;
  header.model.low = fields.read<uint64_t>("model");
  header.model.high = fields.read<uint64_t>("model");
  header.num_tokens = fields.read<uint64_t>("tokens");
  header.num_generated = fields.read<uint64_t>("generated tokens");
  header.block_bytes = fields.read<uint64_t>("block bytes");
  header.block_tokens = fields.read<uint32_t>("block tokens");
  const auto length = fields.read<uint32_t>("length of the cache text");
  if (length > SnapshotHeader::kMaxCacheText) {
    fail(Code::Format, "{}: cache text of {} bytes, the limit is {}", name, length,
         SnapshotHeader::kMaxCacheText);
  }
  header.cache.resize(length);
  reader.read(std::as_writable_bytes(std::span(header.cache)), "the cache text");
  return header;
}

/// How many blocks follow the tokens. Throws Format where the numbers do not fit together.
uint64_t checked_blocks(const SnapshotHeader& header, const SummingReader& reader,
                        const std::string& name) {
  const uint64_t tokens_bytes =
      checked_mul(header.num_tokens, sizeof(Token), "tokens of a snapshot");
  const uint64_t behind = checked_add(tokens_bytes, kSumBytes, "tokens of a snapshot");
  if (behind > reader.left()) {
    fail(Code::Format, "{}: {} tokens do not fit the {} bytes that are left", name,
         header.num_tokens, reader.left());
  }
  const uint64_t blocks_bytes = reader.left() - behind;
  if (header.block_bytes == 0 || header.block_tokens == 0 ||
      blocks_bytes % header.block_bytes != 0 ||
      blocks_bytes / header.block_bytes > header.num_tokens / header.block_tokens) {
    fail(Code::Format, "{}: {} bytes are no blocks of {} bytes for {} of {} tokens", name,
         blocks_bytes, header.block_bytes, header.block_tokens, header.num_tokens);
  }
  if (header.num_generated > header.num_tokens) {
    fail(Code::Format, "{}: {} of {} tokens generated", name, header.num_generated,
         header.num_tokens);
  }
  return blocks_bytes / header.block_bytes;
}

}  // namespace

SnapshotIdentity snapshot_identity(const Model& model) {
  return {model.fingerprint(), cache_text(model)};
}

SnapshotHeader Session::snapshot_header() {
  const SnapshotIdentity& identity = engine_->snapshot_identity();
  SnapshotHeader header;
  header.model = identity.model;
  header.cache = identity.cache;
  header.num_tokens = sequence_.size();
  header.num_generated = answer_.num_generated();
  header.block_bytes = engine_->row_bytes();
  header.block_tokens = engine_->row_tokens();
  return header;
}

uint64_t Session::snapshot_bytes() {
  const Use use(*this);
  const SnapshotHeader header = snapshot_header();
  const uint64_t num_blocks = (sequence_.size() - num_pending()) / header.block_tokens;
  return SnapshotHeader::kFixedBytes + header.cache.size() + header.num_tokens * sizeof(Token) +
         num_blocks * header.block_bytes + kSumBytes;
}

void Session::save(const SnapshotSink& sink) {
  const Use use(*this);
  const SnapshotHeader header = snapshot_header();
  Buffer row(model().options().system, header.block_bytes, "block of a snapshot");
  SummingWriter writer(sink);
  writer.write(header_bytes(header));
  writer.write(std::as_bytes(sequence_.tokens()));
  // Others may take blocks meanwhile, the last ones first: what was read by then is a snapshot,
  // too.
  for (uint64_t i = 0; engine_->read_row(sequence_, i, row.span()); ++i) writer.write(row.span());
  writer.finish();
}

void Session::restore(const ByteSource& source, bool text_only_if_cache_differs) {
  const Use use(*this);
  const SnapshotIdentity& identity = engine_->snapshot_identity();
  const std::string& name = source.name();
  SummingReader reader(source);
  const SnapshotHeader header = read_header(reader, name);
  if (header.model != identity.model) {
    fail(Code::Format, "{}: a snapshot of another model: {}, this one is {}", name,
         header.model.hex(), identity.model.hex());
  }
  const bool same_cache = header.cache == identity.cache &&
                          header.block_bytes == engine_->row_bytes() &&
                          header.block_tokens == engine_->row_tokens();
  if (!same_cache && !text_only_if_cache_differs) {
    fail(Code::Format, "{}: a snapshot of another cache: {}, this one is {}", name,
         quoted(header.cache, SnapshotHeader::kMaxCacheText),
         quoted(identity.cache, SnapshotHeader::kMaxCacheText));
  }
  const uint64_t num_blocks = checked_blocks(header, reader, name);

  // All of it goes into a session of its own, which takes the place of this one at the end.
  const std::unique_ptr<Session> restored = empty_like();
  if (header.num_tokens > context()) {
    fail(Code::Limit, "tokens {} > context {}", header.num_tokens, context());
  }
  std::vector<Token> tokens(std::min(header.num_tokens, kPieceBytes / sizeof(Token)));
  for (uint64_t left = header.num_tokens; left > 0;) {
    const auto piece = std::span(tokens).first(std::min<uint64_t>(left, tokens.size()));
    reader.read(std::as_writable_bytes(piece), "the tokens");
    for (const Token token : piece) {
      if (token >= 0 && static_cast<uint64_t>(token) < vocab()) continue;
      fail(Code::Format, "{}: token {} is outside 0..{}", name, token, vocab() - 1);
    }
    restored->sequence_.append(piece);
    left -= piece.size();
  }
  // Blocks for which there is no room, or not any more, are computed again when they are needed.
  const uint64_t row_bytes =
      same_cache ? header.block_bytes : std::min(header.block_bytes, kPieceBytes);
  Buffer row(model().options().system, num_blocks == 0 ? 0 : row_bytes, "block of a snapshot");
  for (uint64_t left = num_blocks * header.block_bytes; left > 0;) {
    const auto part = row.span().first(std::min(left, row.size()));
    reader.read(part, "the blocks");
    if (same_cache) engine_->write_row(*restored->control_, num_blocks - left / row.size(), part);
    left -= part.size();
  }
  reader.check_sum();
  const uint64_t lost = same_cache ? 0 : num_blocks * header.block_tokens;
  restored->answer_.resume(restored->sequence_.tokens(), header.num_generated);
  engine_->with_sequences(*control_, *restored->control_, [&] {
    if (lost > 0) restored->sequence_.set_lost({lost, PrefixMiss::Cause::CacheType});
    sequence_.swap(restored->sequence_);
  });
  std::swap(answer_, restored->answer_);
  logits_position_ = kNoLogits;
  last_is_generated_ = false;
}

}  // namespace tenon
