// Finds the name nearest to a misspelt one, for messages. Lists of names live elsewhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/field_words.h"

namespace tenon {

/// Levenshtein distance in bytes. Takes a.size() x b.size() steps, so shorten user input first.
inline size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

/// Compares texts; ignores the case of ASCII letters.
inline bool equal_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

/// Finds the candidate nearest to a name; the first of equals. A known alias (field_words.h) is
/// nearest to its option. A distant name has no nearest.
class NearestName {
 public:
  /// name: the user's text; only its first 64 bytes count.
  explicit NearestName(std::string_view name)
      : name_(name.substr(0, 64)), meant_(meaning_of_field_word(name_)) {}

  void consider(std::string_view candidate) {
    if (is_word_) return;
    if (candidate == meant_) {
      is_word_ = true;
      nearest_ = candidate;
      return;
    }
    const size_t distance = edit_distance(name_, candidate);
    if (distance >= least_ || distance > 1 + std::min(name_.size(), candidate.size()) / 3) return;
    least_ = distance;
    nearest_ = candidate;
  }

  /// The user's text, shortened for a message.
  [[nodiscard]] std::string_view name() const { return name_; }
  /// Nearest candidate; empty if none is near.
  [[nodiscard]] std::string_view nearest() const { return nearest_; }
  /// Tail of a message: `; the nearest name is "..."`, or nothing.
  [[nodiscard]] std::string hint() const {
    if (nearest_.empty()) return {};
    return std::string(is_word_ ? "; here it is called \"" : "; the nearest name is \"") +
           std::string(nearest_) + '"';
  }

 private:
  std::string_view name_;
  std::string_view meant_;
  std::string_view nearest_;
  size_t least_ = SIZE_MAX;
  bool is_word_ = false;
};

}  // namespace tenon
