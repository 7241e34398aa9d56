// A bounds-checked cursor over a ByteSource that reads in bounded pieces as it goes: how the
// headers of files are parsed.
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

/// Tail of messages about a file that ends too early.
inline constexpr const char* kCutShort = "; the file is cut short or damaged: fetch it again";

/// The same checks and messages as ByteReader's, over at most kWindowBytes in memory at a time
/// (sources that are in memory already are not copied). The source must outlive the reader.
class SourceReader {
 public:
  /// The first piece is small, for small files; then each is twice the one before, up to
  /// kWindowBytes.
  static constexpr uint64_t kFirstWindowBytes = uint64_t{64} << 10;
  static constexpr uint64_t kWindowBytes = uint64_t{1} << 20;

  SourceReader(const ByteSource& source, std::shared_ptr<System> system);

  [[nodiscard]] uint64_t offset() const { return window_.offset(); }
  [[nodiscard]] uint64_t remaining() const { return source_.size() - offset(); }
  [[nodiscard]] const std::string& name() const { return source_.name(); }

  /// One little-endian value.
  template <typename T>
  T read(std::string_view what) {
    check_left(sizeof(T), what);
    fill(sizeof(T));
    return window_.read<T>(what);
  }
  /// The next `size_bytes` (at most kWindowBytes), valid until the next call.
  std::span<const std::byte> take(uint64_t size_bytes, std::string_view what);
  /// Copies the next out.size() bytes, however many.
  void copy(std::span<std::byte> out, std::string_view what);
  /// Passes over bytes without reading them.
  void skip(uint64_t size_bytes, std::string_view what);
  /// Goes back or forth to an offset inside the source that was reached before.
  void seek(uint64_t offset);

  /// A length in bytes that the file states: Format "length exceeds the file" when it does.
  uint64_t check_length(uint64_t length, std::string_view what) const;

 private:
  void check_left(uint64_t size_bytes, std::string_view what) const;
  void fill(uint64_t size_bytes);
  void set_piece(std::span<const std::byte> piece, uint64_t begin);

  const ByteSource& source_;
  std::shared_ptr<System> system_;
  Buffer buffer_;
  std::span<const std::byte>
      piece_;                 // of the source, in memory now: in buffer_ or the source's own
  uint64_t piece_begin_ = 0;  // its offset in the source
  ByteReader window_;         // from the current offset to the end of the piece
  uint64_t next_piece_bytes_ = kFirstWindowBytes;
};

}  // namespace tenon
