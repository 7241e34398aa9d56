#include "text/unicode/unicode_forms.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "text/unicode/utf8_codec.h"

namespace tenon {
namespace {

using Codes = std::vector<utf8proc_int32_t>;

int combining_class(utf8proc_int32_t code) { return utf8proc_get_property(code)->combining_class; }

/// Sorts a run of marks by combining class; stable.
void order_marks(std::span<utf8proc_int32_t> marks, Codes& scratch) {
  std::array<size_t, 257> begins{};
  bool sorted = true;
  int previous = 0;
  for (const utf8proc_int32_t mark : marks) {
    const int of_mark = combining_class(mark);
    sorted = sorted && previous <= of_mark;
    previous = of_mark;
    ++begins[static_cast<size_t>(of_mark) + 1];
  }
  if (sorted) return;
  for (size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
  scratch.assign(marks.begin(), marks.end());
  for (const utf8proc_int32_t mark : scratch) {
    marks[begins[static_cast<size_t>(combining_class(mark))]++] = mark;
  }
}

class FormWriter {
 public:
  explicit FormWriter(UnicodeForm form)
      : composes_(form == UnicodeForm::C || form == UnicodeForm::KC),
        options_((composes_ ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                 (form == UnicodeForm::KC || form == UnicodeForm::KD ? UTF8PROC_COMPAT : 0) |
                 UTF8PROC_STABLE) {}

  void add(uint32_t code) {
    constexpr int kMaxParts = 32;  // 18 in Unicode 15
    utf8proc_int32_t parts[kMaxParts];
    int last_class = 0;
    const auto count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts, kMaxParts,
                                static_cast<utf8proc_option_t>(options_), &last_class);
    if (count < 0 || count > kMaxParts) {
      codes_.push_back(static_cast<utf8proc_int32_t>(code));
    } else {
      codes_.insert(codes_.end(), parts, parts + count);
    }
  }

  /// Appends the added characters as text.
  void flush(std::string& out) {
    for (size_t begin = 0; begin < codes_.size();) {
      size_t end = begin;
      while (end < codes_.size() && combining_class(codes_[end]) != 0) ++end;
      if (end - begin > 1) order_marks(std::span(codes_).subspan(begin, end - begin), scratch_);
      begin = end + 1;
    }
    if (composes_) {
      const auto size =
          utf8proc_normalize_utf32(codes_.data(), static_cast<utf8proc_ssize_t>(codes_.size()),
                                   static_cast<utf8proc_option_t>(options_));
      if (size >= 0) codes_.resize(static_cast<size_t>(size));
    }
    for (const utf8proc_int32_t code : codes_) utf8_append(static_cast<uint32_t>(code), out);
    codes_.clear();
  }

 private:
  bool composes_;
  int options_;
  Codes codes_;
  Codes scratch_;
};

}  // namespace

std::string to_unicode_form(std::string_view text, UnicodeForm form) {
  std::string out;
  out.reserve(text.size());
  FormWriter writer(form);
  // No form joins an ASCII character to the text before it. So the text is cut into runs of ASCII,
  // and runs of one ASCII character and non-ASCII text.
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && static_cast<uint8_t>(text[end]) < 128) ++end;
    const size_t plain_end = end == text.size() || end == at ? end : end - 1;
    out += text.substr(at, plain_end - at);
    at = plain_end;
    if (at == text.size()) break;
    do {
      const CodePoint c = utf8_decode_valid(text.data() + at);
      writer.add(c.code);
      at += c.size;
    } while (at < text.size() && static_cast<uint8_t>(text[at]) >= 128);
    writer.flush(out);
  }
  return out;
}

void append_lowercase(uint32_t code, std::string& out) {
  // The only capital whose small form is two characters.
  constexpr uint32_t kDottedCapitalI = 0x130;
  if (code == kDottedCapitalI) {
    out += "i\u0307";
  } else {
    utf8_append(static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))), out);
  }
}

}  // namespace tenon
