// SentencePiece's normalization table (precompiled_charsmap, such as nmt_nfkc), stored in the model
// file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// Immutable. A double-array trie of replaced sequences (the format of darts-clone, a u32 per
/// unit), then their replacements, each terminated by NUL.
class CharsMap {
 public:
  static constexpr size_t kMaxReplacementBytes = 1024;  // NFKC's longest has 33
  static constexpr size_t kMaxSequenceBytes = 256;      // longer sequences are never replaced

  /// An empty table replaces nothing.
  CharsMap() = default;
  /// bytes: the table in a file: u32 size of the trie in bytes, the trie, the replacements. Throws
  /// Format, and Limit for a replacement beyond kMaxReplacementBytes, naming `where`.
  CharsMap(std::string_view bytes, std::string_view where);

  struct Replacement {
    std::string_view text;  ///< well-formed UTF-8
    size_t size;            ///< bytes replaced
  };
  /// The replacement of the longest sequence of the table at the start of `text`, if any. `text` is
  /// well-formed UTF-8; sequences that end inside a character are ignored.
  [[nodiscard]] std::optional<Replacement> find(std::string_view text) const;
  /// The replacement of the shortest sequence at the start of `text`, if any.
  [[nodiscard]] std::optional<Replacement> find_shortest(std::string_view text) const;

 private:
  [[nodiscard]] std::optional<Replacement> walk(std::string_view text, bool longest) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace tenon
