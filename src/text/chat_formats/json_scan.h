// Scans JSON from a model byte by byte: finds the end of a value, and converts strings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// Finds the end of a JSON value in a stream.
class JsonScan {
 public:
  enum class State : uint8_t { Inside, Complete, Bad };

  /// Takes the next byte. Complete means that the byte ended the value and belongs to it. A number
  /// at top level ends only at the byte after it, which does not belong to it (see took_last).
  State feed(char c);
  [[nodiscard]] bool took_last() const { return took_last_; }
  [[nodiscard]] bool in_string() const {
    return place_ == Place::String || place_ == Place::Escape || place_ == Place::Unicode;
  }
  /// True if the text may end at this point: after a number at top level.
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

  /// State of a number; it may end after Zero, Whole, Fraction and Exponent.
  enum class Number : uint8_t { Minus, Zero, Whole, Point, Fraction, E, Sign, Exponent };

  State value(char c);
  State after_value();
  /// True if the byte continues the number.
  bool grow_number(char c);
  [[nodiscard]] bool is_number() const {
    return number_ == Number::Zero || number_ == Number::Whole || number_ == Number::Fraction ||
           number_ == Number::Exponent;
  }

  Place place_ = Place::Value;
  Number number_ = Number::Minus;
  std::vector<char> open_;  // '{' or '[' of each open value
  bool is_key_ = false;
  bool took_last_ = true;
  uint32_t digits_ = 0;
  std::string_view word_;
};

/// Appends `text` in quotes, with JSON escapes.
void append_json_string(std::string_view text, std::string& out);
/// Text of a JSON string given with its quotes; empty if invalid.
std::optional<std::string> json_string_text(std::string_view json);
/// JSON value with raw control characters in strings escaped, as models write line breaks; empty if
/// the text is no JSON value.
std::optional<std::string> repaired_json(std::string_view text);
/// True if the whole text is one JSON value, white space around it allowed.
bool is_json(std::string_view text);

}  // namespace tenon
