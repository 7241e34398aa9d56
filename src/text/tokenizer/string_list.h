// Many strings in two allocations, without an object each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tenon {

/// Strings end to end: 4 bytes of overhead each, less than 4 GiB in total.
class StringList {
 public:
  StringList() = default;
  explicit StringList(const std::vector<std::string>& strings) {
    size_t bytes = 0;
    for (const std::string& text : strings) bytes += text.size();
    reserve(strings.size(), bytes);
    for (const std::string& text : strings) push_back(text);
  }

  void reserve(size_t strings, size_t bytes) {
    ends_.reserve(strings);
    bytes_.reserve(bytes);
  }
  /// Appends a string. Throws Limit if the total would exceed 32 bits.
  void push_back(std::string_view text) {
    if (text.size() > UINT32_MAX - bytes_.size()) {
      fail(Code::Limit, "strings of more than {} bytes together", UINT32_MAX);
    }
    bytes_ += text;
    ends_.push_back(static_cast<uint32_t>(bytes_.size()));
  }
  [[nodiscard]] size_t size() const { return ends_.size(); }
  [[nodiscard]] size_t num_bytes() const { return bytes_.size(); }
  [[nodiscard]] bool empty() const { return ends_.empty(); }
  /// index < size(). Valid until the next push_back.
  [[nodiscard]] std::string_view operator[](size_t index) const {
    const uint32_t begin = index == 0 ? 0 : ends_[index - 1];
    return {bytes_.data() + begin, ends_[index] - begin};
  }

 private:
  std::string bytes_;
  std::vector<uint32_t> ends_;
};

}  // namespace tenon
