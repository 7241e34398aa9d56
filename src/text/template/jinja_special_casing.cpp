// Upper, lower and title case from Unicode's SpecialCasing.txt: characters that become several.
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <string>

#include "text/template/jinja_characters.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::jinja {
namespace {

struct UpperCase {
  uint32_t code;
  const char* upper;
};

constexpr std::array<UpperCase, 102> kUpperCases{{
    {0xDF, "SS"},
    {0x149, "\u02BCN"},
    {0x1F0, "J\u030C"},
    {0x390, "\u0399\u0308\u0301"},
    {0x3B0, "\u03A5\u0308\u0301"},
    {0x587, "\u0535\u0552"},
    {0x1E96, "H\u0331"},
    {0x1E97, "T\u0308"},
    {0x1E98, "W\u030A"},
    {0x1E99, "Y\u030A"},
    {0x1E9A, "A\u02BE"},
    {0x1F50, "\u03A5\u0313"},
    {0x1F52, "\u03A5\u0313\u0300"},
    {0x1F54, "\u03A5\u0313\u0301"},
    {0x1F56, "\u03A5\u0313\u0342"},
    {0x1F80, "\u1F08\u0399"},
    {0x1F81, "\u1F09\u0399"},
    {0x1F82, "\u1F0A\u0399"},
    {0x1F83, "\u1F0B\u0399"},
    {0x1F84, "\u1F0C\u0399"},
    {0x1F85, "\u1F0D\u0399"},
    {0x1F86, "\u1F0E\u0399"},
    {0x1F87, "\u1F0F\u0399"},
    {0x1F88, "\u1F08\u0399"},
    {0x1F89, "\u1F09\u0399"},
    {0x1F8A, "\u1F0A\u0399"},
    {0x1F8B, "\u1F0B\u0399"},
    {0x1F8C, "\u1F0C\u0399"},
    {0x1F8D, "\u1F0D\u0399"},
    {0x1F8E, "\u1F0E\u0399"},
    {0x1F8F, "\u1F0F\u0399"},
    {0x1F90, "\u1F28\u0399"},
    {0x1F91, "\u1F29\u0399"},
    {0x1F92, "\u1F2A\u0399"},
    {0x1F93, "\u1F2B\u0399"},
    {0x1F94, "\u1F2C\u0399"},
    {0x1F95, "\u1F2D\u0399"},
    {0x1F96, "\u1F2E\u0399"},
    {0x1F97, "\u1F2F\u0399"},
    {0x1F98, "\u1F28\u0399"},
    {0x1F99, "\u1F29\u0399"},
    {0x1F9A, "\u1F2A\u0399"},
    {0x1F9B, "\u1F2B\u0399"},
    {0x1F9C, "\u1F2C\u0399"},
    {0x1F9D, "\u1F2D\u0399"},
    {0x1F9E, "\u1F2E\u0399"},
    {0x1F9F, "\u1F2F\u0399"},
    {0x1FA0, "\u1F68\u0399"},
    {0x1FA1, "\u1F69\u0399"},
    {0x1FA2, "\u1F6A\u0399"},
    {0x1FA3, "\u1F6B\u0399"},
    {0x1FA4, "\u1F6C\u0399"},
    {0x1FA5, "\u1F6D\u0399"},
    {0x1FA6, "\u1F6E\u0399"},
    {0x1FA7, "\u1F6F\u0399"},
    {0x1FA8, "\u1F68\u0399"},
    {0x1FA9, "\u1F69\u0399"},
    {0x1FAA, "\u1F6A\u0399"},
    {0x1FAB, "\u1F6B\u0399"},
    {0x1FAC, "\u1F6C\u0399"},
    {0x1FAD, "\u1F6D\u0399"},
    {0x1FAE, "\u1F6E\u0399"},
    {0x1FAF, "\u1F6F\u0399"},
    {0x1FB2, "\u1FBA\u0399"},
    {0x1FB3, "\u0391\u0399"},
    {0x1FB4, "\u0386\u0399"},
    {0x1FB6, "\u0391\u0342"},
    {0x1FB7, "\u0391\u0342\u0399"},
    {0x1FBC, "\u0391\u0399"},
    {0x1FC2, "\u1FCA\u0399"},
    {0x1FC3, "\u0397\u0399"},
    {0x1FC4, "\u0389\u0399"},
    {0x1FC6, "\u0397\u0342"},
    {0x1FC7, "\u0397\u0342\u0399"},
    {0x1FCC, "\u0397\u0399"},
    {0x1FD2, "\u0399\u0308\u0300"},
    {0x1FD3, "\u0399\u0308\u0301"},
    {0x1FD6, "\u0399\u0342"},
    {0x1FD7, "\u0399\u0308\u0342"},
    {0x1FE2, "\u03A5\u0308\u0300"},
    {0x1FE3, "\u03A5\u0308\u0301"},
    {0x1FE4, "\u03A1\u0313"},
    {0x1FE6, "\u03A5\u0342"},
    {0x1FE7, "\u03A5\u0308\u0342"},
    {0x1FF2, "\u1FFA\u0399"},
    {0x1FF3, "\u03A9\u0399"},
    {0x1FF4, "\u038F\u0399"},
    {0x1FF6, "\u03A9\u0342"},
    {0x1FF7, "\u03A9\u0342\u0399"},
    {0x1FFC, "\u03A9\u0399"},
    {0xFB00, "FF"},
    {0xFB01, "FI"},
    {0xFB02, "FL"},
    {0xFB03, "FFI"},
    {0xFB04, "FFL"},
    {0xFB05, "ST"},
    {0xFB06, "ST"},
    {0xFB13, "\u0544\u0546"},
    {0xFB14, "\u0544\u0535"},
    {0xFB15, "\u0544\u053B"},
    {0xFB16, "\u054E\u0546"},
    {0xFB17, "\u0544\u053D"},
}};

const char* several_upper(uint32_t code) {
  if (code < 0xDF) return nullptr;
  const auto at = std::lower_bound(kUpperCases.begin(), kUpperCases.end(), code,
                                   [](const UpperCase& one, uint32_t c) { return one.code < c; });
  return at != kUpperCases.end() && at->code == code ? at->upper : nullptr;
}

// Greek letters with iota subscript have special title cases.
bool has_iota(uint32_t code) { return code >= 0x1F80 && code <= 0x1FFC; }

}  // namespace

void append_upper(uint32_t code, std::string& out) {
  if (const char* several = several_upper(code))
    out += several;
  else
    utf8_append(to_upper(code), out);
}

void append_lower(uint32_t code, std::string& out) {
  constexpr uint32_t kDottedI = 0x130;
  if (code == kDottedI)
    out += "i\u0307";
  else
    utf8_append(to_lower(code), out);
}

void append_title(uint32_t code, std::string& out) {
  const char* several = has_iota(code) ? nullptr : several_upper(code);
  if (several == nullptr) {
    const auto title = utf8proc_totitle(static_cast<utf8proc_int32_t>(code));
    return utf8_append(static_cast<uint32_t>(title), out);
  }
  const std::string_view all = several;
  const CodePoint first = utf8_decode_valid(all.data());
  if (!is_upper(first.code)) {  // U+0149: a mark, then the letter
    out += all;
    return;
  }
  out += all.substr(0, first.size);
  for (size_t at = first.size; at < all.size();) {
    const CodePoint c = utf8_decode_valid(all.data() + at);
    append_lower(c.code, out);
    at += c.size;
  }
}

}  // namespace tenon::jinja
