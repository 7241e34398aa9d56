// A bounds-checked cursor over bytes in memory: all parsing of binary data goes through it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/checked.h"
#include "base/error.h"

namespace tenon {

static_assert(std::endian::native == std::endian::little,
              "every format we read is little-endian; a big-endian port swaps in ByteReader::read");

/// Reads little-endian values from a span. Every read names what it reads, so that a short file
/// gives
/// "<name> ends at byte N inside <what>". Does not own the bytes.
class ByteReader {
 public:
  /// name: what messages call these bytes (a file name). base_offset: the offset of bytes[0] in it.
  ByteReader(std::span<const std::byte> bytes, std::string name, uint64_t base_offset = 0)
      : bytes_(bytes), name_(std::move(name)), base_offset_(base_offset) {}

  [[nodiscard]] uint64_t offset() const { return base_offset_ + position_; }
  [[nodiscard]] uint64_t remaining() const { return bytes_.size() - position_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// The next `size` bytes, which stay owned by the caller of the constructor.
  std::span<const std::byte> take(uint64_t size, std::string_view what) {
    if (size > remaining()) {
      fail(Code::Format, "{}: ends at byte {} inside {} (needs {} bytes at {})", name_,
           base_offset_ + bytes_.size(), what, size, offset());
    }
    const auto part = bytes_.subspan(position_, size);
    position_ += size;
    return part;
  }

  /// One little-endian value of an arithmetic type.
  template <typename T>
  requires std::is_arithmetic_v<T> T read(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }

  /// A count of things that take at least `min_bytes_each` bytes each in what is left: a larger
  /// count is refused before anything is allocated for it.
  uint64_t check_count(uint64_t count, uint64_t min_bytes_each, std::string_view what) {
    if (count > remaining() / min_bytes_each) {
      fail(Code::Limit, "{}: {} says {} at byte {}, but only {} bytes are left", name_, what, count,
           offset(), remaining());
    }
    return count;
  }

 private:
  std::span<const std::byte> bytes_;
  std::string name_;
  uint64_t base_offset_;
  uint64_t position_ = 0;
};

}  // namespace tenon
