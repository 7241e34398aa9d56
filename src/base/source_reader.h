// A bounds-checked cursor over a ByteSource that reads bounded pieces; parsers of file headers use
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/buffer.h"
#include "base/byte_reader.h"
#include "base/byte_source.h"

namespace tenon {

/// Tail of messages about truncated files.
inline constexpr const char* kCutShort = "; the file is cut short or damaged: fetch it again";

/// Checks and messages are those of ByteReader. Holds at most kWindowBytes in memory; copies
/// nothing from sources in memory. The source must outlive the reader.
class SourceReader {
 public:
  /// Size of the first piece, for small files. Each further piece doubles, up to kWindowBytes.
  static constexpr uint64_t kFirstWindowBytes = uint64_t{64} << 10;
  static constexpr uint64_t kWindowBytes = uint64_t{1} << 20;

  SourceReader(const ByteSource& source, std::shared_ptr<System> system);

  [[nodiscard]] uint64_t offset() const { return window_.offset(); }
  [[nodiscard]] uint64_t remaining() const { return source_.size() - offset(); }
  [[nodiscard]] const std::string& name() const { return source_.name(); }

  /// Reads a little-endian value.
  template <typename T>
  T read(std::string_view what) {
    check_left(sizeof(T), what);
    fill(sizeof(T));
    return window_.read<T>(what);
  }
  /// The next `size_bytes` (at most kWindowBytes), valid until the next call.
  std::span<const std::byte> take(uint64_t size_bytes, std::string_view what);
  /// Copies the next out.size() bytes; any number.
  void copy(std::span<std::byte> out, std::string_view what);
  /// Skips bytes without reading them.
  void skip(uint64_t size_bytes, std::string_view what);
  /// Moves to an offset of the source that was reached before.
  void seek(uint64_t offset);

  /// Returns `length`, a byte length that the file states. Throws Format if it exceeds the file.
  uint64_t check_length(uint64_t length, std::string_view what) const;

 private:
  void check_left(uint64_t size_bytes, std::string_view what) const;
  void fill(uint64_t size_bytes);
  void set_piece(std::span<const std::byte> piece, uint64_t begin);

  const ByteSource& source_;
  std::shared_ptr<System> system_;
  Buffer buffer_;
  std::span<const std::byte>
      piece_;                 // current bytes of the source, in buffer_ or the source's memory
  uint64_t piece_begin_ = 0;  // its offset in the source
  ByteReader window_;         // rest of the piece
  uint64_t next_piece_bytes_ = kFirstWindowBytes;
};

}  // namespace tenon
