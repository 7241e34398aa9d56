#include "text/chat_formats/python_scan.h"

#include <array>
#include <string_view>
#include <utility>

#include "text/chat_formats/json_scan.h"
#include "text/chat_formats/reply_stream.h"
#include "text/unicode/hex_digit.h"
#include "text/unicode/json_escapes.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {
namespace {

constexpr size_t kMaxPythonDepth = 128;
constexpr size_t kMaxWord = 64;

bool is_word_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '.' || c == '+' || c == '-';
}

char closer_of(char open) { return open == '{' ? '}' : open == '[' ? ']' : ')'; }

/// JSON of a number or a named constant; empty for other words.
std::string json_word(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kNames{{{"True", "true"},
                                                                                 {"False", "false"},
                                                                                 {"None", "null"},
                                                                                 {"true", "true"},
                                                                                 {"false", "false"},
                                                                                 {"null", "null"}}};
  for (const auto& [name, json] : kNames) {
    if (word == name) return std::string(json);
  }
  // Convert Python's number syntax beyond JSON's.
  std::string number(word.starts_with('-') ? "-" : "");
  if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
  if (word.starts_with('.')) number += '0';
  for (const char c : word) {
    if (c != '_') number += c;
  }
  if (word.ends_with('.')) number += '0';
  return is_json(number) && kind_of_json(number) <= kFractionKind ? number : std::string();
}

}  // namespace

PythonScan::State PythonScan::after_value() {
  place_ = Place::AfterValue;
  return open_.empty() ? State::Complete : State::Inside;
}

PythonScan::State PythonScan::value(char c, std::string& json) {
  if (c == '"' || c == '\'') {
    quote_ = c;
    place_ = Place::Quote;
    json += '"';
  } else if (c == '{' || c == '[' || c == '(') {
    if (is_key_ || open_.size() >= kMaxPythonDepth) return State::Bad;
    open_.push_back(c);
    json += c == '{' ? '{' : '[';
    place_ = c == '{' ? Place::FirstKey : Place::FirstItem;
  } else if (is_word_byte(c)) {
    word_ = c;
    place_ = Place::Word;
  } else {
    return State::Bad;
  }
  return State::Inside;
}

PythonScan::State PythonScan::feed(char c, std::string& json) {
  switch (place_) {
    case Place::Quote:
    case Place::TwoQuotes:
    case Place::String:
    case Place::EndQuotes:
      return string(c, json);
    case Place::Escape:
    case Place::Digits:
      return escape(c, json);
    case Place::Word:
      if (is_word_byte(c)) {
        word_ += c;
        return word_.size() > kMaxWord ? State::Bad : State::Inside;
      }
      if (const State ended = end_word(json); ended != State::Inside) return ended;
      break;
    default:
      break;
  }
  if (is_reply_space(c)) return State::Inside;
  switch (place_) {
    case Place::FirstItem:
    case Place::Value:
    case Place::FirstKey:
    case Place::Key: {
      const bool may_close = place_ == Place::FirstItem || place_ == Place::FirstKey;
      if (may_close && c == closer_of(open_.back())) {
        has_comma_ = false;
        json += c == '}' ? '}' : ']';
        open_.pop_back();
        return after_value();
      }
      if (has_comma_) json += ", ";
      has_comma_ = false;
      is_key_ = place_ == Place::FirstKey || place_ == Place::Key;
      return value(c, json);
    }
    case Place::Colon:
      if (c != ':') return State::Bad;
      json += ": ";
      place_ = Place::Value;
      return State::Inside;
    case Place::AfterValue:
      if (c == ',') {
        place_ = open_.back() == '{' ? Place::FirstKey : Place::FirstItem;
        has_comma_ = true;
        return State::Inside;
      }
      if (c != closer_of(open_.back())) return State::Bad;
      json += c == '}' ? '}' : ']';
      open_.pop_back();
      return after_value();
    default:
      return State::Bad;
  }
}

PythonScan::State PythonScan::end_word(std::string& json) {
  const std::string meaning = json_word(word_);
  if (meaning.empty()) return State::Bad;
  if (is_key_) {
    append_json_string(meaning, json);
    place_ = Place::Colon;
    return State::Inside;
  }
  json += meaning;
  if (after_value() == State::Inside) return State::Inside;
  took_last_ = false;
  return State::Complete;
}

PythonScan::State PythonScan::end_string(std::string& json) {
  if (high_ != 0) put(0, json);
  json += '"';
  if (!is_key_) return after_value();
  place_ = Place::Colon;
  return State::Inside;
}

PythonScan::State PythonScan::string(char c, std::string& json) {
  switch (place_) {
    case Place::Quote:
      is_long_ = false;
      place_ = c == quote_ ? Place::TwoQuotes : Place::String;
      return c == quote_ ? State::Inside : string(c, json);
    case Place::TwoQuotes: {
      if (c == quote_) {
        is_long_ = true;
        place_ = Place::String;
        return State::Inside;
      }
      if (end_string(json) == State::Inside) return feed(c, json);
      took_last_ = false;
      return State::Complete;
    }
    case Place::EndQuotes:
      if (c == quote_) return ++num_quotes_ < 3 ? State::Inside : end_string(json);
      for (; num_quotes_ > 0; --num_quotes_) put(static_cast<uint8_t>(quote_), json);
      place_ = Place::String;
      break;
    default:
      break;
  }
  if (c == '\\') {
    place_ = Place::Escape;
  } else if (c != quote_) {
    if (high_ != 0) put(0, json);
    append_json_escaped({&c, 1}, json);
  } else if (is_long_) {
    num_quotes_ = 1;
    place_ = Place::EndQuotes;
  } else {
    return end_string(json);
  }
  return State::Inside;
}

/// Writes a character by its code; a high surrogate waits for the low one. 0 ends the waiting.
void PythonScan::put(uint32_t code, std::string& json) {
  const bool is_low = code >= 0xDC00 && code < 0xE000;
  if (high_ != 0) {
    const uint32_t pair = 0x10000 + ((high_ - 0xD800) << 10) + (code - 0xDC00);
    high_ = 0;
    utf8_append(is_low ? pair : kReplacementCharacter, json);
    if (is_low || code == 0) return;
  }
  if (code >= 0xD800 && code < 0xDC00) {
    high_ = code;
    return;
  }
  std::string text;
  utf8_append(is_low || code > 0x10FFFF ? kReplacementCharacter : code, text);
  append_json_escaped(text, json);
}

PythonScan::State PythonScan::escape(char c, std::string& json) {
  if (place_ == Place::Digits) {
    const int digit = hex_digit(c);
    if (digit < 0) return State::Bad;
    code_ = code_ * 16 + static_cast<uint32_t>(digit);
    if (--digits_left_ > 0) return State::Inside;
    place_ = Place::String;
    if (code_ == 0)
      json += "\\u0000";
    else
      put(code_, json);
    return State::Inside;
  }
  place_ = Place::String;
  constexpr std::string_view kLetters = "nrtbfav0\\'\"/";
  constexpr std::string_view kBytes{"\n\r\t\b\f\a\v\0\\'\"/", 12};
  constexpr std::array<std::pair<char, uint32_t>, 3> kDigits{{{'x', 2}, {'u', 4}, {'U', 8}}};
  for (const auto& [letter, digits] : kDigits) {
    if (c != letter) continue;
    place_ = Place::Digits;
    digits_left_ = digits;
    code_ = 0;
    return State::Inside;
  }
  if (high_ != 0) put(0, json);
  if (const size_t known = kLetters.find(c); known != kLetters.npos) {
    append_json_escaped(kBytes.substr(known, 1), json);
  } else if (c != '\n') {  // a backslash removes a line break
    append_json_escaped("\\", json);
    return string(c, json);
  }
  return State::Inside;
}

}  // namespace tenon
