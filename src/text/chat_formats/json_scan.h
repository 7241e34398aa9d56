// JSON as it comes in from a model, byte by byte: where a value ends, and strings in and out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// Finds the end of one JSON value in a stream.
class JsonScan {
 public:
  enum class State : uint8_t { Inside, Complete, Bad };

  /// Takes the next byte. Complete: the byte ended the value and belongs to it, except after a
  /// number at top level, which no byte of its own ends: then it does not (see took_last).
  State feed(char c);
  [[nodiscard]] bool took_last() const { return took_last_; }
  [[nodiscard]] bool in_string() const {
    return place_ == Place::String || place_ == Place::Escape || place_ == Place::Unicode;
  }
  /// Whether the text may end here: a number at top level.
  [[nodiscard]] bool may_end() const {
    return place_ == Place::Number && open_.empty() && is_number();
  }

 private:
  enum class Place : uint8_t {
    Value,
    FirstItem,
    FirstKey,
    Key,
    Colon,
    AfterValue,
    String,
    Escape,
    Unicode,
    Number,
    Word
  };

  /// How far a number has come; it may end after Zero, Whole, Fraction and Exponent.
  enum class Number : uint8_t { Minus, Zero, Whole, Point, Fraction, E, Sign, Exponent };

  State value(char c);
  State after_value();
  /// Whether the byte carries the number on.
  bool grow_number(char c);
  [[nodiscard]] bool is_number() const {
    return number_ == Number::Zero || number_ == Number::Whole || number_ == Number::Fraction ||
           number_ == Number::Exponent;
  }

  Place place_ = Place::Value;
  Number number_ = Number::Minus;
  std::vector<char> open_;  // '{' or '['
  bool is_key_ = false;
  bool took_last_ = true;
  uint32_t digits_ = 0;
  std::string_view word_;
};

/// `text` between quotes with what JSON escapes escaped.
void append_json_string(std::string_view text, std::string& out);
/// The text of a JSON string with its quotes; nothing for what is none.
std::optional<std::string> json_string_text(std::string_view json);
/// A text that is one JSON value, with line breaks and the like in strings, which models write as
/// they are, escaped; nothing for another text.
std::optional<std::string> repaired_json(std::string_view text);
/// Whether the whole text is one JSON value with white space around it.
bool is_json(std::string_view text);

}  // namespace tenon
