#include "text/chat_formats/json_scan.h"

#include <algorithm>

#include "text/unicode/hex_digit.h"
#include "text/unicode/json_escapes.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {
namespace {

constexpr size_t kMaxDepth = 128;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

JsonScan::State JsonScan::value(char c) {
  if (c == '"') {
    place_ = Place::String;
    is_key_ = false;
  } else if (c == '{' || c == '[') {
    if (open_.size() >= kMaxDepth) return State::Bad;
    open_.push_back(c);
    place_ = c == '{' ? Place::FirstKey : Place::FirstItem;
  } else if (c == '-' || is_digit(c)) {
    place_ = Place::Number;
    number_ = c == '-' ? Number::Minus : c == '0' ? Number::Zero : Number::Whole;
  } else if (c == 't' || c == 'f' || c == 'n') {
    place_ = Place::Word;
    word_ = c == 't' ? "rue" : c == 'f' ? "alse" : "ull";
  } else {
    return State::Bad;
  }
  return State::Inside;
}

JsonScan::State JsonScan::after_value() {
  place_ = Place::AfterValue;
  return open_.empty() ? State::Complete : State::Inside;
}

bool JsonScan::grow_number(char c) {
  const bool digit = is_digit(c), e = (c | 32) == 'e';
  switch (number_) {
    case Number::Minus:
      number_ = c == '0' ? Number::Zero : Number::Whole;
      return digit;
    case Number::Zero:
    case Number::Whole:
      if (digit) return number_ == Number::Whole;
      number_ = c == '.' ? Number::Point : Number::E;
      return c == '.' || e;
    case Number::Point:
      number_ = Number::Fraction;
      return digit;
    case Number::Fraction:
      if (e) number_ = Number::E;
      return digit || e;
    case Number::E:
      number_ = digit ? Number::Exponent : Number::Sign;
      return digit || c == '+' || c == '-';
    case Number::Sign:
      number_ = Number::Exponent;
      return digit;
    case Number::Exponent:
      return digit;
  }
  return false;
}

JsonScan::State JsonScan::feed(char c) {
  switch (place_) {
    case Place::String:
      if (c == '\\') place_ = Place::Escape;
      if (c != '"') return State::Inside;
      if (!is_key_) return after_value();
      place_ = Place::Colon;
      return State::Inside;
    case Place::Escape:
      if (std::string_view("\"\\/bfnrtu").find(c) == std::string_view::npos) return State::Bad;
      place_ = c == 'u' ? Place::Unicode : Place::String;
      digits_ = 0;
      return State::Inside;
    case Place::Unicode:
      if (hex_digit(c) < 0) return State::Bad;
      if (++digits_ == 4) place_ = Place::String;
      return State::Inside;
    case Place::Word:
      if (c != word_.front()) return State::Bad;
      word_.remove_prefix(1);
      return word_.empty() ? after_value() : State::Inside;
    case Place::Number: {
      const bool whole = is_number();
      if (grow_number(c)) return State::Inside;
      if (!whole) return State::Bad;
      if (after_value() == State::Complete) {
        took_last_ = false;
        return State::Complete;
      }
      break;
    }
    default:
      break;
  }
  if (is_space(c)) return State::Inside;
  switch (place_) {
    case Place::FirstItem:
      if (c == ']') {
        open_.pop_back();
        return after_value();
      }
      return value(c);
    case Place::Value:
      return value(c);
    case Place::FirstKey:
    case Place::Key:
      if (c == '"') {
        place_ = Place::String;
        is_key_ = true;
        return State::Inside;
      }
      if (c != '}' || place_ == Place::Key) return State::Bad;
      open_.pop_back();
      return after_value();
    case Place::Colon:
      if (c != ':') return State::Bad;
      place_ = Place::Value;
      return State::Inside;
    case Place::AfterValue:
      if (open_.empty()) return State::Bad;
      if (c == ',') {
        place_ = open_.back() == '{' ? Place::Key : Place::Value;
        return State::Inside;
      }
      if (c != (open_.back() == '{' ? '}' : ']')) return State::Bad;
      open_.pop_back();
      return after_value();
    default:
      return State::Bad;
  }
}

void append_json_string(std::string_view text, std::string& out) {
  out += '"';
  append_json_escaped(text, out);
  out += '"';
}

std::optional<std::string> json_string_text(std::string_view json) {
  if (json.size() < 2 || json.front() != '"' || json.back() != '"') return std::nullopt;
  json = json.substr(1, json.size() - 2);
  std::string out;
  for (size_t at = 0; at < json.size(); ++at) {
    if (json[at] == '"') return std::nullopt;
    if (json[at] != '\\') {
      out += json[at];
      continue;
    }
    if (++at >= json.size()) return std::nullopt;
    const auto* const known =
        std::find_if(kShortEscapes.begin(), kShortEscapes.end(),
                     [&](const ShortEscape& escape) { return escape.letter == json[at]; });
    if (known != kShortEscapes.end()) {
      out += known->code;
      continue;
    }
    std::optional<uint32_t> code = json_unit(json.substr(at - 1));
    if (!code) return std::nullopt;
    at += 4;
    if (*code >= 0xD800 && *code < 0xDC00) {
      const std::optional<uint32_t> low = json_unit(json.substr(at + 1));
      if (low && *low >= 0xDC00 && *low < 0xE000) {
        code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
        at += 6;
      }
    }
    utf8_append(*code >= 0xD800 && *code < 0xE000 ? kReplacementCharacter : *code, out);
  }
  return out;
}

std::optional<std::string> repaired_json(std::string_view text) {
  if (!is_json(text)) return std::nullopt;
  std::string out;
  JsonScan scan;
  for (const char c : text) {
    scan.feed(c);
    if (scan.in_string() && static_cast<uint8_t>(c) < 0x20)
      append_json_escaped({&c, 1}, out);
    else
      out += c;
  }
  return out;
}

bool is_json(std::string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  JsonScan scan;
  for (size_t i = 0; i < text.size(); ++i) {
    const JsonScan::State state = scan.feed(text[i]);
    if (state == JsonScan::State::Bad) return false;
    if (state == JsonScan::State::Complete) return scan.took_last() && i + 1 == text.size();
  }
  return scan.may_end();
}

}  // namespace tenon
