#include "text/unicode/general_category.h"

#include <utf8proc.h>

#include <array>

namespace tenon {
namespace {

struct CategoryName {
  std::string_view short_name;
  std::string_view long_name;
};
// Indexed by utf8proc_category_t.
constexpr std::array<CategoryName, 30> kCategories{{
    {"Cn", "Unassigned"},
    {"Lu", "Uppercase_Letter"},
    {"Ll", "Lowercase_Letter"},
    {"Lt", "Titlecase_Letter"},
    {"Lm", "Modifier_Letter"},
    {"Lo", "Other_Letter"},
    {"Mn", "Nonspacing_Mark"},
    {"Mc", "Spacing_Mark"},
    {"Me", "Enclosing_Mark"},
    {"Nd", "Decimal_Number"},
    {"Nl", "Letter_Number"},
    {"No", "Other_Number"},
    {"Pc", "Connector_Punctuation"},
    {"Pd", "Dash_Punctuation"},
    {"Ps", "Open_Punctuation"},
    {"Pe", "Close_Punctuation"},
    {"Pi", "Initial_Punctuation"},
    {"Pf", "Final_Punctuation"},
    {"Po", "Other_Punctuation"},
    {"Sm", "Math_Symbol"},
    {"Sc", "Currency_Symbol"},
    {"Sk", "Modifier_Symbol"},
    {"So", "Other_Symbol"},
    {"Zs", "Space_Separator"},
    {"Zl", "Line_Separator"},
    {"Zp", "Paragraph_Separator"},
    {"Cc", "Control"},
    {"Cf", "Format"},
    {"Cs", "Surrogate"},
    {"Co", "Private_Use"},
}};
static_assert(UTF8PROC_CATEGORY_CN == 0 && UTF8PROC_CATEGORY_CO + 1 == kCategories.size());

constexpr std::array<CategoryName, 7> kGroups{{{"L", "Letter"},
                                               {"M", "Mark"},
                                               {"N", "Number"},
                                               {"P", "Punctuation"},
                                               {"S", "Symbol"},
                                               {"Z", "Separator"},
                                               {"C", "Other"}}};
// Further names of categories and groups.
constexpr std::array<CategoryName, 4> kAliases{
    {{"Nd", "digit"}, {"P", "punct"}, {"M", "Combining_Mark"}, {"Cc", "cntrl"}}};

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

/// same(a, b): compares a name in the table with the requested name.
template <typename Same>
CategoryMask find(std::string_view name, Same same) {
  for (const CategoryName& alias : kAliases) {
    if (same(alias.long_name, name)) name = alias.short_name;
  }
  if (same("LC", name) || same("Cased_Letter", name)) {
    return 1u << UTF8PROC_CATEGORY_LU | 1u << UTF8PROC_CATEGORY_LL | 1u << UTF8PROC_CATEGORY_LT;
  }
  for (size_t i = 0; i < kCategories.size(); ++i) {
    if (same(kCategories[i].short_name, name) || same(kCategories[i].long_name, name)) {
      return 1u << i;
    }
  }
  CategoryMask categories = 0;
  for (const CategoryName& group : kGroups) {
    if (!same(group.short_name, name) && !same(group.long_name, name)) continue;
    for (size_t i = 0; i < kCategories.size(); ++i) {
      if (kCategories[i].short_name[0] == group.short_name[0]) categories |= 1u << i;
    }
  }
  return categories;
}

}  // namespace

CategoryMask category_bit(uint32_t code) noexcept {
  return CategoryMask{1} << utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

CategoryMask categories_named(std::string_view name) {
  return find(name, [](std::string_view known, std::string_view asked) { return known == asked; });
}

CategoryMask categories_named_loosely(std::string_view name) {
  return find(loose_name(name), [](std::string_view known, std::string_view asked) {
    size_t at = 0;
    for (const char c : known) {
      if (c == '_') continue;
      if (at == asked.size() || lower(c) != lower(asked[at])) return false;
      ++at;
    }
    return at == asked.size();
  });
}

std::string loose_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    out.push_back(lower(c));
  }
  return out;
}

}  // namespace tenon
