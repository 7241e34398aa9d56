#include "text/tokenizer_json/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "base/error.h"
#include "base/huge_pages.h"
#include "base/utf8.h"
#include "text/bpe/byte_alphabet.h"
#include "text/regex/pattern_search.h"
#include "text/unicode/char_properties.h"
#include "text/unicode/charsmap.h"
#include "text/unicode/unicode_forms.h"
#include "text/unicode/utf8_codec.h"
#include "text/wordpiece/bert_words.h"

namespace tenon::tokenizer_json {
namespace {

using Step = std::unique_ptr<const NormalizerStep>;

void check_size(size_t size, size_t most) {
  if (size > most) fail(Code::Limit, "text: more than {} bytes when normalized", most);
}

/// A step that maps each character separately: change(code, out).
template <typename Change>
class EachCharacter final : public NormalizerStep {
 public:
  explicit EachCharacter(Change change) : change_(std::move(change)) {}
  [[nodiscard]] std::string apply(System& system, std::string_view text, bool& at_start,
                                  size_t /*most*/) const override {
    std::string out = string_with_room(system, text.size());
    for (size_t at = 0; at < text.size();) {
      const CodePoint c = utf8_decode_valid(text.data() + at);
      change_(c.code, out);
      if (at == 0) at_start = at_start && !out.empty();
      at += c.size;
    }
    return out;
  }

 private:
  Change change_;
};

/// A step that maps the whole text: whole(text, at_start) or whole(system, text, at_start, most).
template <typename Whole>
class WholeText final : public NormalizerStep {
 public:
  explicit WholeText(Whole whole) : whole_(std::move(whole)) {}
  [[nodiscard]] std::string apply(System& system, std::string_view text, bool& at_start,
                                  size_t most) const override {
    if constexpr (std::is_invocable_v<const Whole&, System&, std::string_view, bool&, size_t>) {
      return whole_(system, text, at_start, most);
    } else {
      return whole_(text, at_start);
    }
  }

 private:
  Whole whole_;
};

template <typename Change>
Step each_character(Change change) {
  return std::make_unique<EachCharacter<Change>>(std::move(change));
}
template <typename Whole>
Step whole_text(Whole whole) {
  return std::make_unique<WholeText<Whole>>(std::move(whole));
}

Step make_bert(const JsonField& field) {
  BertOptions options;
  options.clean_text = field.at("clean_text").flag();
  options.separate_cjk = field.at("handle_chinese_chars").flag();
  options.lowercase = field.at("lowercase").flag();
  options.strip_accents = field.at("strip_accents").flag_or(options.lowercase);
  return whole_text([options](System& system, std::string_view text, bool& at_start, size_t) {
    if (!text.empty()) {
      const std::string_view first = text.substr(0, utf8_decode_valid(text.data()).size);
      at_start = at_start && !bert_normalized(system, first, options).empty();
    }
    return bert_normalized(system, text, options);
  });
}

Step make_strip(const JsonField& field) {
  const bool left = field.at("strip_left").flag();
  const bool right = field.at("strip_right").flag();
  return whole_text([left, right, spaces = space_set()](std::string_view text, bool& at_start) {
    size_t begin = 0;
    size_t end = text.size();
    while (left && begin < end) {
      const CodePoint c = utf8_decode_valid(text.data() + begin);
      if (!spaces.contains(c.code)) break;
      begin += c.size;
    }
    while (right && end > begin) {
      size_t last = end - 1;
      while (utf8_continues(text[last])) --last;
      if (!spaces.contains(utf8_decode_valid(text.data() + last).code)) break;
      end = last;
    }
    at_start = at_start && begin == 0;
    return std::string(text.substr(begin, end - begin));
  });
}

Step make_strip_accents(const JsonField& /*field*/) {
  return each_character([marks = *property_set("M")](uint32_t code, std::string& out) {
    if (!marks.contains(code)) utf8_append(code, out);
  });
}

template <UnicodeForm kForm>
Step make_form(const JsonField& /*field*/) {
  return whole_text([](std::string_view text, bool&) { return to_unicode_form(text, kForm); });
}

Step make_lowercase(const JsonField& /*field*/) { return each_character(append_lowercase); }

/// SentencePiece's nmt rules: drops controls and replaces space-like characters by spaces.
Step make_nmt(const JsonField& /*field*/) {
  return each_character([](uint32_t c, std::string& out) {
    const bool gone = (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F ||
                      c == 0x8F || c == 0x9F;
    if (gone) return;
    const bool is_space = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                          (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 ||
                          c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
    utf8_append(is_space ? ' ' : c, out);
  });
}

}  // namespace

std::string from_base64(const JsonField& field) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int num_bits = 0;
  std::string_view text = field.text();
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) field.expected("base64");
    bits = bits << 6 | static_cast<uint32_t>(digit);
    num_bits += 6;
    if (num_bits < 8) continue;
    num_bits -= 8;
    bytes.push_back(static_cast<char>(bits >> num_bits));
  }
  return bytes;
}

namespace {

/// Applies SentencePiece's table like the published library: a cluster of characters below six
/// bytes is replaced by the entry of its prefix, else each character is. Text after a dropped
/// character takes its place, so the text's start is kept.
std::string replace_by_charsmap(System& system, std::string_view text, const CharsMap& map,
                                size_t most) {
  constexpr size_t kMaxCluster = 5;
  std::string out = string_with_room(system, text.size());
  for (size_t at = 0; at < text.size();) {
    check_size(out.size(), most);
    CodePoint c = utf8_decode_valid(text.data() + at);
    size_t end = at + c.size;
    utf8proc_int32_t state = 0;
    while (end < text.size()) {
      const CodePoint next = utf8_decode_valid(text.data() + end);
      if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(c.code),
                                           static_cast<utf8proc_int32_t>(next.code), &state)) {
        break;
      }
      c = next;
      end += next.size;
    }
    const std::string_view cluster = text.substr(at, end - at);
    at = end;
    if (cluster.size() <= kMaxCluster) {
      if (const auto found = map.find_shortest(cluster)) {
        out += found->text;
        continue;
      }
    }
    for (size_t i = 0; i < cluster.size();) {
      const uint32_t size = utf8_decode_valid(cluster.data() + i).size;
      const std::string_view part = cluster.substr(i, size);
      const auto found = map.find_shortest(part);
      out += found ? found->text : part;
      i += size;
    }
  }
  return out;
}

Step make_precompiled(const JsonField& field) {
  const JsonField map = field.at("precompiled_charsmap");
  return whole_text([map = CharsMap(from_base64(map), map.where())](
                        System& system, std::string_view text, bool&, size_t most) {
    return replace_by_charsmap(system, text, map, most);
  });
}

/// True if replacing the start of a text keeps its start position: the published library counts a
/// replacement of several characters from the last of them.
bool keeps_start(std::string_view replaced, std::string_view content) {
  if (replaced.empty()) return true;
  return !content.empty() && utf8_decode_valid(replaced.data()).size == replaced.size();
}

Step make_replace(const JsonField& field) {
  const JsonField pattern = field.at("pattern");
  const std::string content = field.at("content").short_text();
  if (pattern.has("String") && !pattern.at("String").text().empty()) {
    return whole_text([what = pattern.at("String").text(), content](
                          System& system, std::string_view text, bool& at_start, size_t most) {
      at_start = at_start && (!text.starts_with(what) || keeps_start(what, content));
      std::string out = string_with_room(system, text.size());
      for (size_t at = 0; at < text.size();) {
        const size_t found = std::min(text.find(what, at), text.size());
        out += text.substr(at, found - at);
        if (found < text.size()) out += content;
        check_size(out.size(), most);
        at = found + what.size();
      }
      return out;
    });
  }
  return whole_text([compiled = Pattern(pattern_text(pattern)), content](
                        System& system, std::string_view text, bool& at_start, size_t most) {
    std::string out = string_with_room(system, text.size());
    PatternSearch search(compiled);
    search.begin(text);
    size_t at = 0;
    for (PatternMatch match; !text.empty() && search.next(match);) {
      out += text.substr(at, match.begin - at);
      out += content;
      check_size(out.size(), most);
      if (match.begin == 0) at_start = at_start && keeps_start(text.substr(0, match.end), content);
      at = match.end;
    }
    out += text.substr(at);
    return out;
  });
}

Step make_prepend(const JsonField& field) {
  return whole_text([prefix = field.at("prepend").short_text()](std::string_view text, bool&) {
    return text.empty() ? std::string() : prefix + std::string(text);
  });
}

Step make_byte_level(const JsonField& /*field*/) {
  return whole_text([](std::string_view text, bool&) { return byte_letters(text); });
}

struct StepType {
  std::string_view name;
  Step (*make)(const JsonField&);
};
constexpr StepType kStepTypes[] = {
    {"BertNormalizer", make_bert},
    {"Strip", make_strip},
    {"StripAccents", make_strip_accents},
    {"NFC", make_form<UnicodeForm::C>},
    {"NFD", make_form<UnicodeForm::D>},
    {"NFKC", make_form<UnicodeForm::KC>},
    {"NFKD", make_form<UnicodeForm::KD>},
    {"Lowercase", make_lowercase},
    {"Nmt", make_nmt},
    {"Precompiled", make_precompiled},
    {"Replace", make_replace},
    {"Prepend", make_prepend},
    {"ByteLevel", make_byte_level},
};

}  // namespace

Normalizer::Normalizer(const JsonField& field, std::shared_ptr<System> system)
    : system_(std::move(system)) {
  if (!field.is_null()) add(field);
}

void Normalizer::add(const JsonField& field) {
  const JsonField type = field.at("type");
  if (type.text() == "Sequence") {
    for (const JsonField& part : field.at("normalizers").items()) add(part);
    return;
  }
  const auto* const known =
      std::find_if(std::begin(kStepTypes), std::end(kStepTypes),
                   [&](const StepType& of_list) { return of_list.name == type.text(); });
  if (known == std::end(kStepTypes)) type.unsupported("normalizer");
  if (steps_.size() >= kMaxSteps) {
    fail(Code::Limit, "{}: more than {} steps", field.where(), kMaxSteps);
  }
  steps_.push_back(known->make(field));
}

std::string Normalizer::apply(std::string_view text, bool& at_start) const {
  const size_t most = std::min(kMaxGrowth * (text.size() + kMaxContentBytes), kMaxBytes);
  std::string out(text);
  for (const Step& step : steps_) {
    out = step->apply(*system_, out, at_start, most);
    check_size(out.size(), most);
  }
  return out;
}

}  // namespace tenon::tokenizer_json
