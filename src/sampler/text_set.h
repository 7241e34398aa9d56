// A set of texts, found in a stream of bytes as it comes. What follows from one that is found is
// decided in stop_strings.h and banned_texts.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace tenon {

/// An automaton (Aho and Corasick 1975); immutable. Its states are numbers, 0 is the beginning.
class TextSet {
 public:
  static constexpr size_t kMaxTexts = 1000;
  static constexpr size_t kMaxBytes = 65536;  ///< of all together

  struct Rules {
    const char* name = "";                                       ///< of the option, for messages
    size_t max_text_bytes = std::numeric_limits<size_t>::max();  ///< of one text
    bool ignore_case = false;                                    ///< of the letters of ASCII
    bool shortest =
        false;  ///< of the texts that end in one place the shortest counts, not the longest
  };
  /// Throws Argument for an empty text or one that is no UTF-8, Limit for what is too much.
  TextSet(std::span<const std::string> texts, const Rules& rules);

  [[nodiscard]] uint32_t next(uint32_t state, char byte) const;
  /// Bytes of the longest beginning of a text that the stream ends in.
  [[nodiscard]] uint32_t depth(uint32_t state) const { return states_[state].depth; }
  /// Bytes of the text that ends here; 0: none does.
  [[nodiscard]] uint32_t match(uint32_t state) const { return states_[state].match; }

 private:
  struct State {
    uint32_t fallback = 0;  // the longest other beginning that the stream also ends in
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
