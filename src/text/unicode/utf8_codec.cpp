#include "text/unicode/utf8_codec.h"

#include <cstring>

namespace tenon {
namespace {

// Lead bytes of well-formed UTF-8 and the ranges of the next bytes (Unicode 15, table 3-7).
struct Lead {
  uint32_t size = 0;  // 0 means no lead byte
  uint8_t second_low = 0x80;
  uint8_t second_high = 0xBF;
};

constexpr Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {};
}

size_t ascii_prefix(std::string_view bytes) noexcept {
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t block;
    std::memcpy(&block, bytes.data() + i, 8);
    if (block & 0x8080808080808080u) break;
  }
  while (i < bytes.size() && static_cast<uint8_t>(bytes[i]) < 0x80) ++i;
  return i;
}

}  // namespace

Utf8Unit utf8_unit(std::string_view bytes) noexcept {
  const Lead lead = lead_of(static_cast<uint8_t>(bytes[0]));
  if (lead.size == 0) return {Utf8Unit::IllFormed, 1, kReplacementCharacter};
  for (uint32_t i = 1; i < lead.size; ++i) {
    if (i == bytes.size()) return {Utf8Unit::Unfinished, i, kReplacementCharacter};
    const auto byte = static_cast<uint8_t>(bytes[i]);
    const uint8_t low = i == 1 ? lead.second_low : 0x80;
    const uint8_t high = i == 1 ? lead.second_high : 0xBF;
    if (byte < low || byte > high) return {Utf8Unit::IllFormed, i, kReplacementCharacter};
  }
  return {Utf8Unit::Whole, lead.size, utf8_decode_valid(bytes.data()).code};
}

size_t utf8_valid_prefix(std::string_view bytes) noexcept {
  size_t position = 0;
  while (true) {
    position += ascii_prefix(bytes.substr(position));
    if (position == bytes.size()) return position;
    const Utf8Unit unit = utf8_unit(bytes.substr(position));
    if (unit.kind != Utf8Unit::Whole) return position;
    position += unit.size;
  }
}

void utf8_append(uint32_t code, std::string& out) {
  const auto put = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

void utf8_append_repaired(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    const size_t valid = utf8_valid_prefix(bytes);
    out.append(bytes.substr(0, valid));
    bytes.remove_prefix(valid);
    if (bytes.empty()) return;
    out.append(kReplacementUtf8);
    bytes.remove_prefix(utf8_unit(bytes).size);
  }
}

}  // namespace tenon
