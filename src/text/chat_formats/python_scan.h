// Converts a Python literal from a model to JSON byte by byte.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon {

class PythonScan {
 public:
  enum class State : uint8_t { Inside, Complete, Bad };

  /// Takes the next byte and appends the JSON known so far. Complete means that the byte ended the
  /// value and belongs to it. Numbers and words end only at the byte after them, which does not
  /// belong to them (see took_last).
  State feed(char c, std::string& json);
  [[nodiscard]] bool took_last() const { return took_last_; }

 private:
  enum class Place : uint8_t {
    Value,
    FirstItem,  // first item, or the end of the list
    Key,
    FirstKey,
    Colon,
    AfterValue,
    Quote,      // after the first quote of a string
    TwoQuotes,  // after two: an empty string, or the beginning of a long one
    String,
    EndQuotes,  // after quotes that may end a long string
    Escape,
    Digits,  // digits of an escape
    Word
  };

  State value(char c, std::string& json);
  State after_value();
  State string(char c, std::string& json);
  State end_string(std::string& json);
  State escape(char c, std::string& json);
  State end_word(std::string& json);
  void put(uint32_t code, std::string& json);

  Place place_ = Place::Value;
  std::vector<char> open_;  // '[', '(' or '{' of each open value
  bool is_key_ = false;
  bool has_comma_ = false;  // after a comma; the list may end
  bool took_last_ = true;
  char quote_ = 0;
  bool is_long_ = false;  // delimited by three quotes
  uint32_t num_quotes_ = 0;
  uint32_t digits_left_ = 0;
  uint32_t code_ = 0;
  uint32_t high_ = 0;  // high surrogate of a pair
  std::string word_;
};

}  // namespace tenon
