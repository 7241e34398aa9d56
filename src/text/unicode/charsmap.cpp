#include "text/unicode/charsmap.h"

#include <algorithm>

#include "base/error.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {
namespace {

uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
uint32_t label_of(uint32_t unit) { return unit & (1u << 31 | 0xFF); }
bool has_leaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t value_of(uint32_t unit) { return unit & ~(1u << 31); }

/// True if a character of well-formed `text` begins at `at`, or the text ends there.
bool is_between_characters(std::string_view text, size_t at) {
  return at == text.size() || !utf8_continues(text[at]);
}

}  // namespace

CharsMap::CharsMap(std::string_view bytes, std::string_view where) {
  if (bytes.empty()) return;
  uint32_t size = 0;
  if (bytes.size() < sizeof size) fail(Code::Format, "{}: {} bytes", where, bytes.size());
  const auto byte = [bytes](size_t i) { return uint32_t{static_cast<uint8_t>(bytes[i])}; };
  const auto word = [&byte](size_t i) {
    return byte(i) | byte(i + 1) << 8 | byte(i + 2) << 16 | byte(i + 3) << 24;
  };
  size = word(0);
  if (size % 4 != 0 || size == 0 || size > bytes.size() - 4) {
    fail(Code::Format, "{}: a trie of {} bytes, {} bytes are there", where, size, bytes.size() - 4);
  }
  units_.reserve(size / 4);
  for (size_t i = 0; i < size; i += 4) units_.push_back(word(4 + i));
  replacements_ = bytes.substr(4 + size);
  if (!replacements_.empty() && replacements_.back() != '\0') {
    fail(Code::Format, "{}: the last replacement has no end", where);
  }
  if (utf8_valid_prefix(replacements_) != replacements_.size()) {
    fail(Code::Format, "{}: the replacements are not UTF-8", where);
  }
  for (size_t begin = 0; begin < replacements_.size();) {
    const size_t end = replacements_.find('\0', begin);
    if (end - begin > kMaxReplacementBytes) {
      fail(Code::Limit, "{}: a replacement of {} bytes, the limit is {}", where, end - begin,
           kMaxReplacementBytes);
    }
    begin = end + 1;
  }
}

std::optional<CharsMap::Replacement> CharsMap::find(std::string_view text) const {
  return walk(text, true);
}

std::optional<CharsMap::Replacement> CharsMap::find_shortest(std::string_view text) const {
  return walk(text, false);
}

std::optional<CharsMap::Replacement> CharsMap::walk(std::string_view text, bool longest) const {
  if (units_.empty()) return std::nullopt;
  std::optional<Replacement> found;
  size_t at = offset_of(units_[0]);
  const size_t most = std::min(text.size(), kMaxSequenceBytes);  // a table may contain cycles
  for (size_t i = 0; i < most; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    at ^= byte;
    if (byte == 0 || at >= units_.size() || label_of(units_[at]) != byte) break;
    const uint32_t unit = units_[at];
    at ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    if (at >= units_.size()) break;
    const uint32_t place = value_of(units_[at]);
    if (place >= replacements_.size()) break;
    if (!is_between_characters(text, i + 1)) continue;
    if (!is_between_characters(replacements_, place)) continue;
    found = Replacement{replacements_.c_str() + place, i + 1};
    if (!longest) break;
  }
  return found;
}

}  // namespace tenon
