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

/// Reads little-endian values from a span it does not own. Every read names its field, so that a
/// short file gives the error "<name>: ends at byte N inside <what>".
class ByteReader {
 public:
  /// name: of the bytes in messages (a file name). base_offset: the offset of bytes[0] in the file.
  ByteReader(std::span<const std::byte> bytes, std::string name, uint64_t base_offset = 0)
      : bytes_(bytes), name_(std::move(name)), base_offset_(base_offset) {}

  [[nodiscard]] uint64_t offset() const { return base_offset_ + position_; }
  [[nodiscard]] uint64_t remaining() const { return bytes_.size() - position_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Returns the next `size` bytes, a view of the constructor's span.
  std::span<const std::byte> take(uint64_t size, std::string_view what) {
    if (size > remaining()) {
      fail(Code::Format, "{}: ends at byte {} inside {} (needs {} bytes at {})", name_,
           base_offset_ + bytes_.size(), what, size, offset());
    }
    const auto part = bytes_.subspan(position_, size);
    position_ += size;
    return part;
  }

  /// Reads a little-endian value of an arithmetic type.
  template <typename T>
  requires std::is_arithmetic_v<T> T read(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }

  /// Checks a count of items of at least `min_bytes_each` bytes each against the remaining bytes.
  /// Throws Limit for a larger count, before any allocation.
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
