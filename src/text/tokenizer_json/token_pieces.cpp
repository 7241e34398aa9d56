#include "text/tokenizer_json/token_pieces.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/utf8.h"
#include "text/bpe/byte_alphabet.h"
#include "text/regex/pattern_search.h"
#include "text/tokenizer/token_table.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::tokenizer_json {
namespace {

using DecoderPointer = std::unique_ptr<const DecoderStep>;

template <typename Change>
class TokenChange final : public DecoderStep {
 public:
  explicit TokenChange(Change change) : change_(std::move(change)) {}
  void apply(DecodedToken& token) const override { change_(token); }

 private:
  Change change_;
};

template <typename Change>
DecoderPointer step(Change change) {
  return std::make_unique<TokenChange<Change>>(std::move(change));
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  size_t found = what.empty() ? text.npos : text.find(what);
  if (found == text.npos) return;
  std::string out;
  size_t at = 0;
  for (; found != text.npos; found = text.find(what, at)) {
    out.append(text, at, found - at).append(by);
    at = found + what.size();
  }
  text = out.append(text, at);
}

/// True if the text is whole characters; steps on characters leave other bytes alone.
bool has_characters(std::string_view text) { return utf8_valid_prefix(text) == text.size(); }

/// Cleans up spaces in English text by the rules of the published library.
void clean_up(std::string& text) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [what, by] : kRules) replace_all(text, what, by);
}

DecoderPointer decode_byte_level(const JsonField& /*field*/) {
  return step([](DecodedToken& token) {
    if (!has_characters(token.text)) return;
    std::string bytes;
    for (size_t at = 0; at < token.text.size();) {
      const CodePoint c = utf8_decode_valid(token.text.data() + at);
      const auto byte = letter_to_byte(c.code);
      if (!byte) return;  // a character outside the alphabet: the token is text
      bytes.push_back(static_cast<char>(*byte));
      at += c.size;
    }
    token.text = std::move(bytes);
  });
}

DecoderPointer decode_byte_fallback(const JsonField& /*field*/) {
  return step([](DecodedToken& token) {
    if (const auto byte = parse_byte_token(token.text)) {
      token.text = std::string(1, static_cast<char>(*byte));
    }
  });
}

DecoderPointer decode_metaspace(const JsonField& field) {
  std::string mark;
  utf8_append(field.at("replacement").character(), mark);
  const JsonField scheme = field.at("prepend_scheme");
  const bool never = (!scheme.is_null() && scheme.text() == "never") ||
                     !field.at("add_prefix_space").flag_or(true);
  return step([mark, never](DecodedToken& token) {
    replace_all(token.text, mark, token.is_first && !never ? "" : " ");
  });
}

DecoderPointer decode_replace(const JsonField& field) {
  const std::string content = field.at("content").short_text();
  return step(
      [compiled = Pattern(pattern_text(field.at("pattern"))), content](DecodedToken& token) {
        if (!has_characters(token.text)) return;
        PatternSearch search(compiled);
        search.begin(token.text);
        std::string out;
        size_t at = 0;
        for (PatternMatch match; !token.text.empty() && search.next(match);) {
          out += token.text.substr(at, match.begin - at);
          out += content;
          at = match.end;
        }
        out += token.text.substr(at);
        token.text = std::move(out);
      });
}

DecoderPointer decode_strip(const JsonField& field) {
  std::string content;
  utf8_append(field.at("content").character(), content);
  const uint64_t start = field.at("start").number();
  const uint64_t stop = field.at("stop").number();
  return step([content, start, stop](DecodedToken& token) {
    std::string_view text = token.text;
    for (uint64_t i = 0; i < start && text.starts_with(content); ++i) {
      text.remove_prefix(content.size());
    }
    for (uint64_t i = 0; i < stop && text.ends_with(content); ++i) {
      text.remove_suffix(content.size());
    }
    token.text = std::string(text);
  });
}

/// Strip after Fuse: strips the start of the whole text, which is that of its first token.
DecoderPointer decode_strip_whole(const JsonField& field) {
  if (field.at("stop").number() != 0) field.at("stop").unsupported("the end of a whole text:");
  return step(
      [inner = std::shared_ptr<const DecoderStep>(decode_strip(field))](DecodedToken& token) {
        if (token.is_first) inner->apply(token);
      });
}

DecoderPointer decode_wordpiece(const JsonField& field) {
  const std::string prefix = field.at("prefix").text();
  const bool cleanup = field.at("cleanup").flag();
  return step([prefix, cleanup](DecodedToken& token) {
    if (!token.is_first) {
      if (token.text.starts_with(prefix)) {
        token.text.erase(0, prefix.size());
      } else {
        token.text.insert(0, " ");
      }
    }
    if (cleanup) clean_up(token.text);
  });
}

/// Unlike the published decoder, keeps the space after the last word of a text.
DecoderPointer decode_bpe(const JsonField& field) {
  if (field.at("suffix").text().empty()) field.at("suffix").unsupported("a suffix of");
  return step([suffix = field.at("suffix").text()](DecodedToken& token) {
    replace_all(token.text, suffix, " ");
  });
}

struct DecoderType {
  std::string_view name;
  DecoderPointer (*make)(const JsonField&);
  DecoderPointer (*make_fused)(
      const JsonField&);  // if it sees the whole text; null means unsupported
};
constexpr DecoderType kDecoderTypes[] = {
    {"ByteLevel", decode_byte_level, decode_byte_level},
    {"ByteFallback", decode_byte_fallback, nullptr},
    {"Metaspace", decode_metaspace, nullptr},
    {"Replace", decode_replace, nullptr},
    {"Strip", decode_strip, decode_strip_whole},
    {"WordPiece", decode_wordpiece, nullptr},
    {"BPEDecoder", decode_bpe, nullptr},
};

}  // namespace

Decoder::Decoder(const JsonField& field) {
  if (!field.is_null()) {
    add(field);
    return;
  }
  steps_.push_back(step([](DecodedToken& token) {
    if (!token.is_first) token.text.insert(0, " ");
  }));
}

void Decoder::add(const JsonField& field) {
  const JsonField type = field.at("type");
  if (type.text() == "Sequence") {
    for (const JsonField& part : field.at("decoders").items()) add(part);
    return;
  }
  if (type.text() == "Fuse") {
    fused_ = true;
    return;
  }
  const auto* const known =
      std::find_if(std::begin(kDecoderTypes), std::end(kDecoderTypes),
                   [&](const DecoderType& of_list) { return of_list.name == type.text(); });
  if (known == std::end(kDecoderTypes)) type.unsupported("decoder");
  if (fused_ && known->make_fused == nullptr) type.unsupported("after Fuse, decoder");
  // WordPiece would insert spaces between the bytes of a character.
  if (has_bytes_ && known->make == decode_wordpiece) {
    type.unsupported("after ByteFallback, decoder");
  }
  if (steps_.size() >= kMaxSteps) {
    fail(Code::Limit, "{}: more than {} steps", field.where(), kMaxSteps);
  }
  has_bytes_ = has_bytes_ || known->make == decode_byte_fallback;
  steps_.push_back(fused_ ? known->make_fused(field) : known->make(field));
  if (known->make == decode_byte_level) is_byte_level_ = fused_ = true;
}

std::string Decoder::run(std::string_view spelling, bool is_first) const {
  DecodedToken token{std::string(spelling), is_first};
  for (const DecoderPointer& of_list : steps_) {
    of_list->apply(token);
    if (token.text.size() > TokenTable::kMaxTokenBytes) {
      fail(Code::Limit, "decoder: {} becomes {} bytes, the limit is {}", quoted(spelling),
           token.text.size(), TokenTable::kMaxTokenBytes);
    }
  }
  return std::move(token.text);
}

}  // namespace tenon::tokenizer_json
