#include "base/source_reader.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace tenon {

SourceReader::SourceReader(const ByteSource& source, std::shared_ptr<System> system)
    : source_(source),
      system_(std::move(system)),
      piece_(source.memory()),
      window_(piece_, source.name()) {}

// Fills the window with the next size_bytes, or with all that is left; the window's reader then
// reports the end of the file.
void SourceReader::fill(uint64_t size_bytes) {
  if (window_.remaining() >= size_bytes || window_.remaining() == remaining()) return;
  const uint64_t begin = offset();
  const uint64_t wanted = std::min(std::max(size_bytes, next_piece_bytes_), remaining());
  next_piece_bytes_ = std::min(next_piece_bytes_ * 2, kWindowBytes);
  set_piece({}, begin);
  if (buffer_.size() < wanted) buffer_ = Buffer(system_, wanted, source_.name());
  const auto bytes = buffer_.span().first(wanted);
  source_.read(begin, bytes);
  set_piece(bytes, begin);
}

void SourceReader::set_piece(std::span<const std::byte> piece, uint64_t begin) {
  piece_ = piece;
  piece_begin_ = begin;
  window_ = ByteReader(piece, source_.name(), begin);
}

void SourceReader::check_left(uint64_t size_bytes, std::string_view what) const {
  if (size_bytes > remaining()) {
    fail(Code::Format, "{}: ends at byte {} inside {} (needs {} bytes at {}){}", name(),
         source_.size(), what, size_bytes, offset(), kCutShort);
  }
}

std::span<const std::byte> SourceReader::take(uint64_t size_bytes, std::string_view what) {
  check_left(size_bytes, what);
  if (size_bytes > kWindowBytes) {
    fail(Code::Limit, "{}: {} takes {} bytes at {}, the limit is {}", name(), what, size_bytes,
         offset(), kWindowBytes);
  }
  fill(size_bytes);
  return window_.take(size_bytes, what);
}

void SourceReader::copy(std::span<std::byte> out, std::string_view what) {
  check_left(out.size(), what);
  if (out.size() <= kFirstWindowBytes) fill(out.size());
  const uint64_t from_window = std::min<uint64_t>(out.size(), window_.remaining());
  if (from_window > 0) {
    std::memcpy(out.data(), window_.take(from_window, what).data(), from_window);
  }
  const auto rest = out.subspan(from_window);
  if (rest.empty()) return;
  source_.read(offset(), rest);
  seek(offset() + rest.size());
}

void SourceReader::skip(uint64_t size_bytes, std::string_view what) {
  check_left(size_bytes, what);
  if (size_bytes <= window_.remaining()) {
    window_.take(size_bytes, what);
  } else {
    seek(offset() + size_bytes);
  }
}

void SourceReader::seek(uint64_t offset) {
  if (offset < piece_begin_ || offset - piece_begin_ > piece_.size()) {
    set_piece({}, offset);
  } else {
    window_ = ByteReader(piece_.subspan(offset - piece_begin_), source_.name(), offset);
  }
}

uint64_t SourceReader::check_length(uint64_t length, std::string_view what) const {
  if (length > remaining()) {
    fail(Code::Format,
         "{}: ends at byte {} inside {}: its length exceeds the file ({} bytes at {}){}", name(),
         source_.size(), what, length, offset(), kCutShort);
  }
  return length;
}

}  // namespace tenon
