// The table with which SentencePiece normalizes text (precompiled_charsmap, such as nmt_nfkc): it
// lies in the model file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// Immutable. A double-array trie over the sequences that are replaced (the format of darts-clone,
/// a u32 per unit), then their replacements, each ending in NUL.
class CharsMap {
 public:
  static constexpr size_t kMaxReplacementBytes = 1024;  // the longest of NFKC has 33
  static constexpr size_t kMaxSequenceBytes = 256;      // that are replaced; longer ones never are

  /// An empty table replaces nothing.
  CharsMap() = default;
  /// bytes: the table as the file has it: u32 size of the trie in bytes, the trie, the
  /// replacements. Throws Error(Format), or Error(Limit) for a replacement beyond
  /// kMaxReplacementBytes, naming `where`.
  CharsMap(std::string_view bytes, std::string_view where);

  struct Replacement {
    std::string_view text;  ///< well-formed UTF-8
    size_t size;            ///< bytes replaced
  };
  /// What replaces the longest sequence of the table at the start of `text`; nothing if none is
  /// there. `text` is well-formed UTF-8; a sequence that ends inside a character does not count.
  [[nodiscard]] std::optional<Replacement> find(std::string_view text) const;
  /// The same of the shortest sequence.
  [[nodiscard]] std::optional<Replacement> find_shortest(std::string_view text) const;

 private:
  [[nodiscard]] std::optional<Replacement> walk(std::string_view text, bool longest) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace tenon
