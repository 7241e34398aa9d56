#include "text/bpe/byte_alphabet.h"

#include "text/unicode/hex_digit.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {
namespace {

constexpr bool stands_for_itself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr uint32_t kFirstShifted = 0x100;
constexpr uint32_t kShiftedCount = 68;

struct Alphabet {
  std::array<uint16_t, 256> letters{};
  std::array<uint8_t, kFirstShifted + kShiftedCount> bytes{};
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  uint32_t shifted = kFirstShifted;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint32_t letter = stands_for_itself(byte) ? byte : shifted++;
    alphabet.letters[byte] = static_cast<uint16_t>(letter);
    alphabet.bytes[letter] = static_cast<uint8_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

uint32_t byte_to_letter(uint8_t byte) noexcept { return kAlphabet.letters[byte]; }

std::optional<uint8_t> letter_to_byte(uint32_t code) noexcept {
  if (code >= kAlphabet.bytes.size()) return std::nullopt;
  if (code < kFirstShifted && !stands_for_itself(code)) return std::nullopt;
  return kAlphabet.bytes[code];
}

std::string byte_letters(std::string_view bytes) {
  std::string letters;
  letters.reserve(bytes.size() + bytes.size() / 4);
  for (const char byte : bytes) utf8_append(byte_to_letter(static_cast<uint8_t>(byte)), letters);
  return letters;
}

std::string spelled_bytes(std::string_view spelling) {
  std::string bytes;
  while (!spelling.empty()) {
    const Utf8Unit unit = utf8_unit(spelling);
    const auto byte = unit.kind == Utf8Unit::Whole ? letter_to_byte(unit.code) : std::nullopt;
    if (byte) {
      bytes.push_back(static_cast<char>(*byte));
    } else {
      bytes.append(spelling.substr(0, unit.size));
    }
    spelling.remove_prefix(unit.size);
  }
  return bytes;
}

std::optional<uint8_t> parse_byte_token(std::string_view spelling) noexcept {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || spelling[5] != '>') {
    return std::nullopt;
  }
  int value = 0;
  for (const char c : spelling.substr(3, 2)) {
    const int digit = hex_digit(c);
    if (digit < 0) return std::nullopt;
    value = value * 16 + digit;
  }
  return static_cast<uint8_t>(value);
}

}  // namespace tenon
