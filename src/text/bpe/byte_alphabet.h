// The alphabet of byte-level BPE vocabularies: one printable character per byte.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon {

/// The character for `byte` (GPT-2's bytes_to_unicode): printable Latin-1 maps to itself, the other
/// 68 bytes in ascending order to U+0100 and up.
uint32_t byte_to_letter(uint8_t byte) noexcept;

/// The byte of the character `code`, if any.
std::optional<uint8_t> letter_to_byte(uint32_t code) noexcept;

/// Spells `bytes` in the alphabet.
std::string byte_letters(std::string_view bytes);

/// The bytes of `spelling`. Characters outside the alphabet map to their UTF-8, ill-formed bytes to
/// themselves.
std::string spelled_bytes(std::string_view spelling);

/// The byte of a SentencePiece byte token: exactly `<0xNN>` with two hexadecimal digits.
std::optional<uint8_t> parse_byte_token(std::string_view spelling) noexcept;

}  // namespace tenon
