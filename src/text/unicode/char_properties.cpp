#include "text/unicode/char_properties.h"

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
constexpr CategoryMask kPunctuation = bit(UTF8PROC_CATEGORY_PC) | bit(UTF8PROC_CATEGORY_PD) |
                                      bit(UTF8PROC_CATEGORY_PS) | bit(UTF8PROC_CATEGORY_PE) |
                                      bit(UTF8PROC_CATEGORY_PI) | bit(UTF8PROC_CATEGORY_PF) |
                                      bit(UTF8PROC_CATEGORY_PO);
constexpr CategoryMask kSymbols = bit(UTF8PROC_CATEGORY_SM) | bit(UTF8PROC_CATEGORY_SC) |
                                  bit(UTF8PROC_CATEGORY_SK) | bit(UTF8PROC_CATEGORY_SO);
constexpr CategoryMask kSeparators =
    bit(UTF8PROC_CATEGORY_ZS) | bit(UTF8PROC_CATEGORY_ZL) | bit(UTF8PROC_CATEGORY_ZP);
struct Range {
  uint32_t first;
  uint32_t last;
};

// From Scripts.txt of Unicode 15: utf8proc has no scripts.
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

// Characters that Unicode's properties Alphabetic, Lowercase and Uppercase contain besides letters
// and numbers of the category (DerivedCoreProperties.txt of Unicode 16). First, marks; ranges
// include characters that are no marks.
constexpr Range kLetterMarks[] = {
    {0x0345, 0x0345},   {0x0363, 0x036F},   {0x05B0, 0x0657},   {0x0659, 0x06DC},
    {0x06E1, 0x06E8},   {0x06ED, 0x073F},   {0x07A6, 0x07B0},   {0x0816, 0x0817},
    {0x081B, 0x082C},   {0x0897, 0x0897},   {0x08D4, 0x08DF},   {0x08E3, 0x08E9},
    {0x08F0, 0x093B},   {0x093E, 0x094C},   {0x094E, 0x094F},   {0x0955, 0x0983},
    {0x09BE, 0x09CC},   {0x09D7, 0x09E3},   {0x0A01, 0x0A03},   {0x0A3E, 0x0A4C},
    {0x0A51, 0x0A83},   {0x0ABE, 0x0ACC},   {0x0AE2, 0x0AFC},   {0x0B01, 0x0B03},
    {0x0B3E, 0x0B4C},   {0x0B56, 0x0BCC},   {0x0BD7, 0x0C04},   {0x0C3E, 0x0C4C},
    {0x0C55, 0x0C83},   {0x0CBE, 0x0CCC},   {0x0CD5, 0x0D03},   {0x0D3E, 0x0D4C},
    {0x0D57, 0x0D83},   {0x0DCF, 0x0E3A},   {0x0E4D, 0x0E4D},   {0x0EB1, 0x0EB9},
    {0x0EBB, 0x0EBC},   {0x0ECD, 0x0ECD},   {0x0F71, 0x0F83},   {0x0F8D, 0x0FBC},
    {0x102B, 0x1036},   {0x1038, 0x1038},   {0x103B, 0x109D},   {0x1712, 0x1713},
    {0x1732, 0x1733},   {0x1752, 0x1773},   {0x17B6, 0x17C8},   {0x1885, 0x1938},
    {0x1A17, 0x1A5E},   {0x1A61, 0x1A74},   {0x1ABF, 0x1AC0},   {0x1ACC, 0x1B04},
    {0x1B35, 0x1B43},   {0x1B80, 0x1BA9},   {0x1BAC, 0x1BAD},   {0x1BE7, 0x1BF1},
    {0x1C24, 0x1C36},   {0x1DD3, 0x1DF4},   {0x2DE0, 0x2DFF},   {0xA674, 0xA67B},
    {0xA69E, 0xA69F},   {0xA802, 0xA802},   {0xA80B, 0xA827},   {0xA880, 0xA8C3},
    {0xA8C5, 0xA8C5},   {0xA8FF, 0xA92A},   {0xA947, 0xA952},   {0xA980, 0xA983},
    {0xA9B4, 0xA9BF},   {0xA9E5, 0xAABE},   {0xAAEB, 0xAAF5},   {0xABE3, 0xABEA},
    {0xFB1E, 0xFB1E},   {0x10376, 0x10A0F}, {0x10D24, 0x10D69}, {0x10EAB, 0x10EFC},
    {0x11000, 0x11045}, {0x11073, 0x11074}, {0x11080, 0x110B8}, {0x110C2, 0x11132},
    {0x11145, 0x11146}, {0x11180, 0x111BF}, {0x111CE, 0x11234}, {0x11237, 0x112E8},
    {0x11300, 0x11303}, {0x1133E, 0x1134C}, {0x11357, 0x11363}, {0x113B8, 0x113CD},
    {0x11435, 0x11441}, {0x11443, 0x11445}, {0x114B0, 0x114C1}, {0x115AF, 0x115BE},
    {0x115DC, 0x1163E}, {0x11640, 0x116B5}, {0x1171D, 0x1172A}, {0x1182C, 0x11838},
    {0x11930, 0x1193C}, {0x11940, 0x11942}, {0x119D1, 0x119DF}, {0x119E4, 0x11A0A},
    {0x11A35, 0x11A3E}, {0x11A51, 0x11A97}, {0x11C2F, 0x11C3E}, {0x11C92, 0x11D41},
    {0x11D43, 0x11D43}, {0x11D47, 0x11D96}, {0x11EF3, 0x11F40}, {0x1611E, 0x1612E},
    {0x16F4F, 0x16F92}, {0x16FF0, 0x16FF1}, {0x1BC9E, 0x1BC9E}, {0x1E000, 0x1E08F},
    {0x1E947, 0x1E947}};
constexpr Range kEnclosedLetters[] = {
    {0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
constexpr Range kOtherLowercase[] = {
    {0xAA, 0xAA},       {0xBA, 0xBA},       {0x2B0, 0x2B8},     {0x2C0, 0x2C1},
    {0x2E0, 0x2E4},     {0x345, 0x345},     {0x37A, 0x37A},     {0x10FC, 0x10FC},
    {0x1D2C, 0x1D6A},   {0x1D78, 0x1D78},   {0x1D9B, 0x1DBF},   {0x2071, 0x2071},
    {0x207F, 0x207F},   {0x2090, 0x209C},   {0x2170, 0x217F},   {0x24D0, 0x24E9},
    {0x2C7C, 0x2C7D},   {0xA69C, 0xA69D},   {0xA770, 0xA770},   {0xA7F2, 0xA7F4},
    {0xA7F8, 0xA7F9},   {0xAB5C, 0xAB5F},   {0xAB69, 0xAB69},   {0x10780, 0x10780},
    {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA}, {0x1E030, 0x1E06D}};
constexpr Range kOtherUppercase[] = {
    {0x2160, 0x216F}, {0x24B6, 0x24CF}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
// Fractions and superscript digits: Oniguruma includes them in \w only outside brackets.
constexpr Range kLatin1Numbers[] = {{0xB2, 0xB3}, {0xB9, 0xB9}, {0xBC, 0xBE}};

CharSet of_ranges(std::span<const Range> ranges) {
  CharSet set;
  for (const Range& range : ranges) set = set.united(CharSet::of_range(range.first, range.last));
  return set;
}

CharSet alphabetic_set() {
  return CharSet::of_categories(kMarks)
      .intersected(of_ranges(kLetterMarks))
      .united(CharSet::of_categories(kLetters | bit(UTF8PROC_CATEGORY_NL)))
      .united(of_ranges(kEnclosedLetters));
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

CharSet bare_word_set() { return word_set().united(of_ranges(kLatin1Numbers)); }

CharSet token_word_set() { return word_set().united(CharSet::of_range(0x200C, 0x200D)); }

CharSet newline_set() { return CharSet::of('\n'); }

std::optional<CharSet> bracket_set(std::string_view name) {
  if (name == "punct") return CharSet::of_categories(kPunctuation | kSymbols);
  return property_set(name);
}

std::optional<CharSet> property_set(std::string_view name) {
  std::string wanted = loose_name(name);
  for (const std::string_view prefix : {"script=", "sc=", "generalcategory=", "gc=", "is"}) {
    if (wanted.starts_with(prefix)) {
      wanted.erase(0, prefix.size());
      break;
    }
  }
  if (const CategoryMask categories = categories_named_loosely(wanted); categories != 0) {
    return CharSet::of_categories(categories);
  }
  if (wanted == "any") return CharSet::of_categories(kAllCategories);
  for (const NamedRanges& entry : kScripts) {
    if (entry.name == wanted) return of_ranges(entry.ranges);
  }
  if (wanted == "space" || wanted == "whitespace") return space_set();
  if (wanted == "word") return word_set();
  if (wanted == "blank") {
    return CharSet::of_categories(bit(UTF8PROC_CATEGORY_ZS)).united(CharSet::of('\t'));
  }
  if (wanted == "alpha" || wanted == "alphabetic") return alphabetic_set();
  if (wanted == "alnum") return alphabetic_set().united(digit_set());
  if (wanted == "lower" || wanted == "lowercase") {
    return CharSet::of_categories(bit(UTF8PROC_CATEGORY_LL)).united(of_ranges(kOtherLowercase));
  }
  if (wanted == "upper" || wanted == "uppercase") {
    return CharSet::of_categories(bit(UTF8PROC_CATEGORY_LU)).united(of_ranges(kOtherUppercase));
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
