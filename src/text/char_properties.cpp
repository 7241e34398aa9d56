#include "text/char_properties.h"

#include <utf8proc.h>

#include <span>
#include <string>

namespace tenon {
namespace {

constexpr CategoryMask bit(int category) { return CategoryMask{1} << category; }

constexpr CategoryMask kLetters = bit(UTF8PROC_CATEGORY_LU) | bit(UTF8PROC_CATEGORY_LL) |
                                  bit(UTF8PROC_CATEGORY_LT) | bit(UTF8PROC_CATEGORY_LM) |
                                  bit(UTF8PROC_CATEGORY_LO);
constexpr CategoryMask kMarks =
    bit(UTF8PROC_CATEGORY_MN) | bit(UTF8PROC_CATEGORY_MC) | bit(UTF8PROC_CATEGORY_ME);
constexpr CategoryMask kNumbers =
    bit(UTF8PROC_CATEGORY_ND) | bit(UTF8PROC_CATEGORY_NL) | bit(UTF8PROC_CATEGORY_NO);
constexpr CategoryMask kPunctuation = bit(UTF8PROC_CATEGORY_PC) | bit(UTF8PROC_CATEGORY_PD) |
                                      bit(UTF8PROC_CATEGORY_PS) | bit(UTF8PROC_CATEGORY_PE) |
                                      bit(UTF8PROC_CATEGORY_PI) | bit(UTF8PROC_CATEGORY_PF) |
                                      bit(UTF8PROC_CATEGORY_PO);
constexpr CategoryMask kSymbols = bit(UTF8PROC_CATEGORY_SM) | bit(UTF8PROC_CATEGORY_SC) |
                                  bit(UTF8PROC_CATEGORY_SK) | bit(UTF8PROC_CATEGORY_SO);
constexpr CategoryMask kSeparators =
    bit(UTF8PROC_CATEGORY_ZS) | bit(UTF8PROC_CATEGORY_ZL) | bit(UTF8PROC_CATEGORY_ZP);
constexpr CategoryMask kOthers = bit(UTF8PROC_CATEGORY_CC) | bit(UTF8PROC_CATEGORY_CF) |
                                 bit(UTF8PROC_CATEGORY_CS) | bit(UTF8PROC_CATEGORY_CO) |
                                 bit(UTF8PROC_CATEGORY_CN);

struct NamedCategories {
  std::string_view name;
  CategoryMask categories;
};

// Names as simplified() leaves them.
constexpr NamedCategories kCategories[] = {
    {"l", kLetters},
    {"letter", kLetters},
    {"lu", bit(UTF8PROC_CATEGORY_LU)},
    {"uppercaseletter", bit(UTF8PROC_CATEGORY_LU)},
    {"ll", bit(UTF8PROC_CATEGORY_LL)},
    {"lowercaseletter", bit(UTF8PROC_CATEGORY_LL)},
    {"lt", bit(UTF8PROC_CATEGORY_LT)},
    {"titlecaseletter", bit(UTF8PROC_CATEGORY_LT)},
    {"lm", bit(UTF8PROC_CATEGORY_LM)},
    {"modifierletter", bit(UTF8PROC_CATEGORY_LM)},
    {"lo", bit(UTF8PROC_CATEGORY_LO)},
    {"otherletter", bit(UTF8PROC_CATEGORY_LO)},
    {"m", kMarks},
    {"mark", kMarks},
    {"mn", bit(UTF8PROC_CATEGORY_MN)},
    {"nonspacingmark", bit(UTF8PROC_CATEGORY_MN)},
    {"mc", bit(UTF8PROC_CATEGORY_MC)},
    {"spacingmark", bit(UTF8PROC_CATEGORY_MC)},
    {"me", bit(UTF8PROC_CATEGORY_ME)},
    {"enclosingmark", bit(UTF8PROC_CATEGORY_ME)},
    {"n", kNumbers},
    {"number", kNumbers},
    {"nd", bit(UTF8PROC_CATEGORY_ND)},
    {"decimalnumber", bit(UTF8PROC_CATEGORY_ND)},
    {"digit", bit(UTF8PROC_CATEGORY_ND)},
    {"nl", bit(UTF8PROC_CATEGORY_NL)},
    {"letternumber", bit(UTF8PROC_CATEGORY_NL)},
    {"no", bit(UTF8PROC_CATEGORY_NO)},
    {"othernumber", bit(UTF8PROC_CATEGORY_NO)},
    {"p", kPunctuation},
    {"punctuation", kPunctuation},
    {"pc", bit(UTF8PROC_CATEGORY_PC)},
    {"connectorpunctuation", bit(UTF8PROC_CATEGORY_PC)},
    {"pd", bit(UTF8PROC_CATEGORY_PD)},
    {"dashpunctuation", bit(UTF8PROC_CATEGORY_PD)},
    {"ps", bit(UTF8PROC_CATEGORY_PS)},
    {"openpunctuation", bit(UTF8PROC_CATEGORY_PS)},
    {"pe", bit(UTF8PROC_CATEGORY_PE)},
    {"closepunctuation", bit(UTF8PROC_CATEGORY_PE)},
    {"pi", bit(UTF8PROC_CATEGORY_PI)},
    {"initialpunctuation", bit(UTF8PROC_CATEGORY_PI)},
    {"pf", bit(UTF8PROC_CATEGORY_PF)},
    {"finalpunctuation", bit(UTF8PROC_CATEGORY_PF)},
    {"po", bit(UTF8PROC_CATEGORY_PO)},
    {"otherpunctuation", bit(UTF8PROC_CATEGORY_PO)},
    {"s", kSymbols},
    {"symbol", kSymbols},
    {"sm", bit(UTF8PROC_CATEGORY_SM)},
    {"mathsymbol", bit(UTF8PROC_CATEGORY_SM)},
    {"sc", bit(UTF8PROC_CATEGORY_SC)},
    {"currencysymbol", bit(UTF8PROC_CATEGORY_SC)},
    {"sk", bit(UTF8PROC_CATEGORY_SK)},
    {"modifiersymbol", bit(UTF8PROC_CATEGORY_SK)},
    {"so", bit(UTF8PROC_CATEGORY_SO)},
    {"othersymbol", bit(UTF8PROC_CATEGORY_SO)},
    {"z", kSeparators},
    {"separator", kSeparators},
    {"zs", bit(UTF8PROC_CATEGORY_ZS)},
    {"spaceseparator", bit(UTF8PROC_CATEGORY_ZS)},
    {"zl", bit(UTF8PROC_CATEGORY_ZL)},
    {"lineseparator", bit(UTF8PROC_CATEGORY_ZL)},
    {"zp", bit(UTF8PROC_CATEGORY_ZP)},
    {"paragraphseparator", bit(UTF8PROC_CATEGORY_ZP)},
    {"c", kOthers},
    {"other", kOthers},
    {"cc", bit(UTF8PROC_CATEGORY_CC)},
    {"control", bit(UTF8PROC_CATEGORY_CC)},
    {"cntrl", bit(UTF8PROC_CATEGORY_CC)},
    {"cf", bit(UTF8PROC_CATEGORY_CF)},
    {"format", bit(UTF8PROC_CATEGORY_CF)},
    {"cs", bit(UTF8PROC_CATEGORY_CS)},
    {"co", bit(UTF8PROC_CATEGORY_CO)},
    {"cn", bit(UTF8PROC_CATEGORY_CN)},
    {"alnum", kLetters | kMarks | bit(UTF8PROC_CATEGORY_ND)},
    {"alpha", kLetters | kMarks},
    {"lower", bit(UTF8PROC_CATEGORY_LL)},
    {"upper", bit(UTF8PROC_CATEGORY_LU)},
    {"any", kAllCategories},
};

struct Range {
  uint32_t first;
  uint32_t last;
};

// Scripts.txt of Unicode 15: utf8proc does not know scripts.
constexpr Range kHan[] = {{0x2E80, 0x2E99},   {0x2E9B, 0x2EF3},   {0x2F00, 0x2FD5},
                          {0x3005, 0x3005},   {0x3007, 0x3007},   {0x3021, 0x3029},
                          {0x3038, 0x303B},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},
                          {0xF900, 0xFA6D},   {0xFA70, 0xFAD9},   {0x16FE2, 0x16FE3},
                          {0x16FF0, 0x16FF1}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B739},
                          {0x2B740, 0x2B81D}, {0x2B820, 0x2CEA1}, {0x2CEB0, 0x2EBE0},
                          {0x2F800, 0x2FA1D}, {0x30000, 0x3134A}, {0x31350, 0x323AF}};
constexpr Range kHiragana[] = {{0x3041, 0x3096},   {0x309D, 0x309F},   {0x1B001, 0x1B11F},
                               {0x1B132, 0x1B132}, {0x1B150, 0x1B152}, {0x1F200, 0x1F200}};
constexpr Range kKatakana[] = {{0x30A1, 0x30FA},   {0x30FD, 0x30FF},   {0x31F0, 0x31FF},
                               {0x32D0, 0x32FE},   {0x3300, 0x3357},   {0xFF66, 0xFF6F},
                               {0xFF71, 0xFF9D},   {0x1AFF0, 0x1AFF3}, {0x1AFF5, 0x1AFFB},
                               {0x1AFFD, 0x1AFFE}, {0x1B000, 0x1B000}, {0x1B120, 0x1B122},
                               {0x1B155, 0x1B155}, {0x1B164, 0x1B167}};
constexpr Range kHangul[] = {{0x1100, 0x11FF}, {0x302E, 0x302F}, {0x3131, 0x318E}, {0x3200, 0x321E},
                             {0x3260, 0x327E}, {0xA960, 0xA97C}, {0xAC00, 0xD7A3}, {0xD7B0, 0xD7C6},
                             {0xD7CB, 0xD7FB}, {0xFFA0, 0xFFBE}, {0xFFC2, 0xFFC7}, {0xFFCA, 0xFFCF},
                             {0xFFD2, 0xFFD7}, {0xFFDA, 0xFFDC}};
constexpr Range kThai[] = {{0x0E01, 0x0E3A}, {0x0E40, 0x0E5B}};

struct NamedRanges {
  std::string_view name;
  std::span<const Range> ranges;
};

constexpr NamedRanges kScripts[] = {{"han", kHan},
                                    {"hiragana", kHiragana},
                                    {"katakana", kKatakana},
                                    {"hangul", kHangul},
                                    {"thai", kThai}};

// Other letters of \w (Other_Alphabetic among symbols): letters in circles and squares.
constexpr Range kEnclosedLetters[] = {
    {0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};

CharSet of_ranges(std::span<const Range> ranges) {
  CharSet set;
  for (const Range& range : ranges) set = set.united(CharSet::of_range(range.first, range.last));
  return set;
}

std::string simplified(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c);
  }
  return out;
}

}  // namespace

CharSet digit_set() { return CharSet::of_categories(bit(UTF8PROC_CATEGORY_ND)); }

CharSet space_set() {
  return CharSet::of_categories(kSeparators)
      .united(CharSet::of_range(9, 13))
      .united(CharSet::of(0x85));
}

CharSet word_set() {
  return CharSet::of_categories(kLetters | kMarks | bit(UTF8PROC_CATEGORY_ND) |
                                bit(UTF8PROC_CATEGORY_NL) | bit(UTF8PROC_CATEGORY_PC))
      .united(of_ranges(kEnclosedLetters));
}

CharSet token_word_set() {
  return word_set().united(CharSet::of_range(0x200C, 0x200D));
}

CharSet newline_set() { return CharSet::of('\n'); }

std::optional<CharSet> property_set(std::string_view name) {
  std::string wanted = simplified(name);
  for (const std::string_view prefix : {"script=", "sc=", "generalcategory=", "gc=", "is"}) {
    if (wanted.starts_with(prefix)) {
      wanted.erase(0, prefix.size());
      break;
    }
  }
  for (const NamedCategories& entry : kCategories) {
    if (entry.name == wanted) return CharSet::of_categories(entry.categories);
  }
  for (const NamedRanges& entry : kScripts) {
    if (entry.name == wanted) return of_ranges(entry.ranges);
  }
  if (wanted == "space" || wanted == "whitespace") return space_set();
  if (wanted == "word") return word_set();
  if (wanted == "blank") {
    return CharSet::of_categories(bit(UTF8PROC_CATEGORY_ZS)).united(CharSet::of('\t'));
  }
  if (wanted == "punct") {
    // Since Oniguruma 6.9.3 the brackets' punct has the ASCII symbols as well.
    CharSet set = CharSet::of_categories(kPunctuation);
    for (const char c : std::string_view("$+<=>^`|~")) {
      set = set.united(CharSet::of(static_cast<uint8_t>(c)));
    }
    return set;
  }
  if (wanted == "xdigit") {
    return CharSet::of_range('0', '9')
        .united(CharSet::of_range('a', 'f'))
        .united(CharSet::of_range('A', 'F'));
  }
  if (wanted == "ascii") return CharSet::of_range(0, 127);
  return std::nullopt;
}

}  // namespace tenon
