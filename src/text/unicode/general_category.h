// Unicode's general categories: the category of a character, and names of categories and groups
// (PropertyValueAliases.txt).
//
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

/// The categories with a name, short or long, exactly as in Unicode's table; 0 if there is none.
CategoryMask categories_named(std::string_view name);
/// The categories with a name, ignoring case, spaces, '-' and '_' (UAX 44, rule LM3).
CategoryMask categories_named_loosely(std::string_view name);
/// Normal form of a name in that rule: "uppercaseletter" for "Uppercase_Letter".
std::string loose_name(std::string_view name);

}  // namespace tenon
