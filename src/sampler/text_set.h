// A set of texts, found in a stream of bytes as it arrives. stop_strings.h and banned_texts.h act
// on matches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace tenon {

/// An automaton (Aho and Corasick 1975); immutable. States are numbers; 0 is the start.
class TextSet {
 public:
  static constexpr size_t kMaxTexts = 1000;
  static constexpr size_t kMaxBytes = 65536;  ///< limit for all texts together

  struct Rules {
    const char* name = "";  ///< name of the option, for messages
    size_t max_text_bytes = std::numeric_limits<size_t>::max();  ///< limit per text
    bool ignore_case = false;  ///< ignores the case of ASCII letters
    bool shortest = false;     ///< matches the shortest of texts with equal ends, not the longest
  };
  /// Builds the automaton. Throws Argument for an empty text or invalid UTF-8, Limit for too many
  /// or too long texts.
  TextSet(std::span<const std::string> texts, const Rules& rules);

  /// State after `byte`.
  [[nodiscard]] uint32_t next(uint32_t state, char byte) const;
  /// Bytes of the longest prefix of a text with which the stream ends.
  [[nodiscard]] uint32_t depth(uint32_t state) const { return states_[state].depth; }
  /// Bytes of the text that ends here; 0 means none.
  [[nodiscard]] uint32_t match(uint32_t state) const { return states_[state].match; }

 private:
  struct State {
    uint32_t fallback = 0;  // state of the next shorter prefix with which the stream also ends
    uint32_t depth = 0;
    uint32_t match = 0;
    uint32_t first_child = 0;
    uint32_t sibling = 0;
    char byte = 0;
  };
  [[nodiscard]] char folded(char byte) const;
  [[nodiscard]] uint32_t child(uint32_t state, char byte) const;
  [[nodiscard]] uint32_t after(uint32_t state, char byte) const;
  void add(std::string_view text);
  void link();

  Rules rules_;
  std::vector<State> states_{1};
};

}  // namespace tenon
