// Unicode's general categories: which one a character has, and the names of categories and of
// groups of them (PropertyValueAliases.txt).
//
//   categories_named("Lu") == categories_named("Uppercase_Letter"), one bit of those of "L"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

/// A bit per general category, numbered as in utf8proc.
using CategoryMask = uint32_t;
inline constexpr CategoryMask kAllCategories = (1u << 30) - 1;

/// The bit of the category of `code`, a Unicode code point.
CategoryMask category_bit(uint32_t code) noexcept;

/// The categories of a name, short or long, as it is written there; 0 when there is none.
CategoryMask categories_named(std::string_view name);
/// The same without regard to case, spaces, '-' and '_' (UAX 44, rule LM3).
CategoryMask categories_named_loosely(std::string_view name);
/// A name as that rule compares it: "Uppercase_Letter" as "uppercaseletter".
std::string loose_name(std::string_view name);

}  // namespace tenon
