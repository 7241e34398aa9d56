// Kinds of options: what a host may give under a key, and the value that a room gets from it. The
// tables *_options.def beside the rooms name a kind for each option.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"

namespace tenon::option {

/// A text: any, or one of the words.
struct Text {
  using Given = std::string;
  using Value = std::string;
  const char* standard;  ///< the value of a host that gives none
  const char* words;     ///< with '|' between them; empty: any text

  constexpr explicit Text(const char* at, const char* of = "") : standard(at), words(of) {}
  [[nodiscard]] Value value(Given text) const { return text; }
};

/// Any text; "auto", the default, is none.
struct AutoText {
  using Given = std::string;
  using Value = std::optional<std::string>;
  const char* standard = "auto";
  const char* words = "";

  [[nodiscard]] Value value(Given text) const {
    return text == standard ? std::nullopt : Value(std::move(text));
  }
};

/// A word of a list, which is a value to the room: word<T>("a", "a|b", value_of_a, value_of_b).
template <typename T, size_t kWords>
struct Word {
  using Given = std::string;
  using Value = T;
  const char* standard;
  const char* words;  ///< with '|' between them
  std::array<T, kWords> values;

  /// Throws Internal for another word.
  [[nodiscard]] constexpr Value value(std::string_view given) const {
    std::string_view rest = words;
    for (const T& value : values) {
      if (rest.substr(0, rest.find('|')) == given) return value;
      rest.remove_prefix(std::min(rest.find('|'), rest.size() - 1) + 1);
    }
    throw Error(Code::Internal, "an option has a word that is not in its list");
  }
};
template <typename T, typename... Values>
constexpr Word<T, sizeof...(Values)> word(const char* standard, const char* words,
                                          Values... values) {
  size_t count = 1;
  for (const char letter : std::string_view(words)) count += letter == '|' ? 1 : 0;
  if (count != sizeof...(Values)) throw Error(Code::Internal, "an option has words without values");
  return {standard, words, {T(values)...}};
}

/// Both ends are allowed.
template <typename Number>
struct Range {
  using Given = Number;
  Number minimum;
  Number maximum;
  Number standard;

  constexpr Range(Number low, Number high, Number at) : minimum(low), maximum(high), standard(at) {}
};

/// A whole number.
template <typename T>
struct Whole : Range<int64_t> {
  using Value = T;
  using Range::Range;
  [[nodiscard]] constexpr Value value(int64_t number) const { return static_cast<T>(number); }
};

/// The most of something; 0 means any number, which is UINT64_MAX to the room.
struct Bound : Range<int64_t> {
  using Value = uint64_t;
  using Range::Range;
  [[nodiscard]] constexpr Value value(int64_t number) const {
    return number == 0 ? UINT64_MAX : static_cast<uint64_t>(number);
  }
};

/// A real number.
struct Real : Range<double> {
  using Value = double;
  using Range::Range;
  [[nodiscard]] constexpr Value value(double number) const { return number; }
};

/// A time in a unit of the host's, nanoseconds to the room.
template <int64_t kNanoseconds>
struct Duration : Range<double> {
  using Value = uint64_t;
  using Range::Range;
  [[nodiscard]] constexpr Value value(double number) const {
    return static_cast<uint64_t>(number * static_cast<double>(kNanoseconds));
  }
};
using Seconds = Duration<1'000'000'000>;
using Milliseconds = Duration<1'000'000>;

/// True or false.
struct Flag {
  using Given = bool;
  using Value = bool;
  bool standard;

  constexpr explicit Flag(bool at = false) : standard(at) {}
  [[nodiscard]] constexpr Value value(bool flag) const { return flag; }
};

/// Any number of texts, within limits.
struct Texts {
  using Given = std::vector<std::string>;
  using Value = std::vector<std::string>;
  size_t max_texts = 1000;
  size_t max_bytes = size_t{1} << 24;  ///< of one text: a chat template is a large one
  size_t max_total_bytes = size_t{1} << 24;

  constexpr Texts() = default;
  constexpr Texts(size_t texts, size_t bytes, size_t total)
      : max_texts(texts), max_bytes(bytes), max_total_bytes(total) {}
  [[nodiscard]] Value value(Given texts) const { return texts; }
};

/// The value of a room whose host gives none.
template <typename Kind>
constexpr typename Kind::Value initial(const Kind& kind) {
  if constexpr (std::is_same_v<Kind, Texts>) {
    return {};
  } else {
    return kind.value(kind.standard);
  }
}

}  // namespace tenon::option
