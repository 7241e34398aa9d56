#include "text/wordpiece/bert_words.h"

#include <utf8proc.h>

#include "base/huge_pages.h"
#include "text/unicode/unicode_forms.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {
namespace {

struct CjkRange {
  uint32_t first;
  uint32_t last;
};

// Blocks that BERT treats as Chinese. U+2B920 is in the published tokenizer; the block begins at
// U+2B820.
constexpr CjkRange kChinese[] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
                                 {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
                                 {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};

bool is_chinese(uint32_t code) {
  for (const CjkRange& range : kChinese) {
    if (code >= range.first && code <= range.last) return true;
  }
  return false;
}

utf8proc_category_t category(uint32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

bool is_space(uint32_t code) {
  if (code < 128) return code == ' ' || (code >= 9 && code <= 13);
  const auto of_code = category(code);
  return code == 0x85 || of_code == UTF8PROC_CATEGORY_ZS || of_code == UTF8PROC_CATEGORY_ZL ||
         of_code == UTF8PROC_CATEGORY_ZP;
}

/// True if clean_text drops `code`, which is beyond ASCII.
bool is_dropped(uint32_t code) {
  if (code == kReplacementCharacter) return true;
  switch (category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:
      return true;
    default:
      return false;
  }
}

bool is_punctuation(uint32_t code) {
  if (code < 128) {
    return (code >= 33 && code <= 47) || (code >= 58 && code <= 64) || (code >= 91 && code <= 96) ||
           (code >= 123 && code <= 126);
  }
  const auto of_code = category(code);
  return of_code >= UTF8PROC_CATEGORY_PC && of_code <= UTF8PROC_CATEGORY_PO;
}

void append_normalized(uint32_t code, const BertOptions& options, std::string& out) {
  if (options.lowercase) {
    append_lowercase(code, out);
  } else {
    utf8_append(code, out);
  }
}

/// Appends an ASCII character like any other, but without tables.
void append_ascii(char c, const BertOptions& options, std::string& out) {
  const bool is_blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
  if (options.clean_text && !is_blank && (c < ' ' || c == '\x7F')) return;
  const bool is_capital = c >= 'A' && c <= 'Z';
  if (options.clean_text && is_blank) {
    out.push_back(' ');
  } else {
    out.push_back(options.lowercase && is_capital ? static_cast<char>(c - 'A' + 'a') : c);
  }
}

/// Decomposes without canonical ordering of marks, since all marks are dropped.
void append_without_accents(uint32_t code, const BertOptions& options, std::string& out) {
  constexpr int kMaxParts = 16;  // 4 in Unicode 15
  utf8proc_int32_t parts[kMaxParts];
  int last_class = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts, kMaxParts,
                                             UTF8PROC_DECOMPOSE, &last_class);
  if (count < 0 || count > kMaxParts) return append_normalized(code, options, out);
  for (int i = 0; i < count; ++i) {
    const auto part = static_cast<uint32_t>(parts[i]);
    if (category(part) != UTF8PROC_CATEGORY_MN) append_normalized(part, options, out);
  }
}

}  // namespace

std::string bert_normalized(System& system, std::string_view text, const BertOptions& options) {
  // A Chinese character gets two spaces. Unused pages of the reservation take no memory.
  std::string out = string_with_room(system, text.size() + text.size() / 3 * 2 + 2);
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = utf8_decode_valid(text.data() + at);
    at += c.size;
    if (c.code < 128) {
      append_ascii(static_cast<char>(c.code), options, out);
      continue;
    }
    if (options.clean_text && is_dropped(c.code)) continue;
    if (options.clean_text && is_space(c.code)) {
      out.push_back(' ');
      continue;
    }
    const bool alone = options.separate_cjk && is_chinese(c.code);
    if (alone) out.push_back(' ');
    if (options.strip_accents) {
      append_without_accents(c.code, options, out);
    } else {
      append_normalized(c.code, options, out);
    }
    if (alone) out.push_back(' ');
  }
  return out;
}

void split_bert_words(std::string_view text, const std::function<void(std::string_view)>& sink) {
  size_t begin = 0;
  const auto end_word = [&](size_t end) {
    if (end > begin) sink(text.substr(begin, end - begin));
  };
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = utf8_decode_valid(text.data() + at);
    const bool space = is_space(c.code);
    if (space || is_punctuation(c.code)) {
      end_word(at);
      if (!space) sink(text.substr(at, c.size));
      begin = at + c.size;
    }
    at += c.size;
  }
  end_word(text.size());
}

}  // namespace tenon
