// The alphabet in which byte-level BPE vocabularies spell bytes: one printable character per byte.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon {

/// The character that stands for `byte` (GPT-2's bytes_to_unicode): printable Latin-1 stands for
/// itself, the other 68 bytes in ascending order for U+0100 and up.
uint32_t byte_to_letter(uint8_t byte) noexcept;

/// The byte that the character `code` stands for, if any.
std::optional<uint8_t> letter_to_byte(uint32_t code) noexcept;

/// `bytes` as their letters.
std::string byte_letters(std::string_view bytes);

/// The bytes that `spelling` stands for. Characters outside the alphabet stand for their own UTF-8,
/// ill-formed bytes for themselves.
std::string spelled_bytes(std::string_view spelling);

/// The byte of a SentencePiece byte token: exactly `<0xNN>` with two hexadecimal digits.
std::optional<uint8_t> parse_byte_token(std::string_view spelling) noexcept;

}  // namespace tenon
