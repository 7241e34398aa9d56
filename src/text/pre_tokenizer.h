// Cuts a text into the words inside which byte-level BPE merges, as a model's tokenizer.ggml.pre
// says; the merging itself is in bpe_tokenizer.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/pattern_search.h"

namespace tenon {

/// A published pre-tokenizer: patterns applied one after another. Each cuts every piece that the
/// one before it left into its matches and what lies between them.
struct PreTokenizer {
  std::string_view name;  ///< as in tokenizer.ggml.pre
  std::span<const std::string_view> patterns;
  bool whole_words = false;  ///< a word that is itself a token is not merged piece by piece
  bool add_bos = false;      ///< the default of tokenizer.ggml.add_bos_token
  /// The vocabulary spells characters, with U+2581 for a space, instead of bytes.
  bool characters = false;
};

/// The pre-tokenizer of that name (empty means "default"). Throws Error(Unsupported) that names it
/// and the nearest known one.
const PreTokenizer& pre_tokenizer_of(std::string_view name);

/// All of them.
std::span<const PreTokenizer> pre_tokenizers();

/// The compiled patterns of a pre-tokenizer; immutable.
struct SplitPatterns {
  std::vector<Pattern> patterns;
  /// [bytes] bit i: a match of patterns[i] may begin with the byte; bit 7 stands for all from
  /// there.
  std::array<uint8_t, 256> beginnings{};
};
SplitPatterns compile_patterns(std::span<const std::string_view> patterns);

/// Cuts texts into words; scratch for one thread. The patterns must outlive it.
class Splitter {
 public:
  explicit Splitter(const SplitPatterns& patterns)
      : searches_(patterns.patterns.begin(), patterns.patterns.end()),
        beginnings_(patterns.beginnings) {}

  /// Calls sink(word) for the words of `text` (well-formed UTF-8), in order; together they are the
  /// text. Linear time for a given pre-tokenizer.
  template <typename Sink>
  void split(std::string_view text, Sink&& sink) {
    if (!text.empty()) split_from(0, kAll, text, sink);
  }

  /// For tests, as PatternSearch::always_use_table.
  void always_use_tables(bool value) {
    for (PatternSearch& search : searches_) search.always_use_table(value);
    skips_ = !value;
  }

 private:
  static constexpr uint8_t kAll = 0xFF;

  /// The patterns that may match somewhere in a piece, as bits. Most words know one.
  [[nodiscard]] uint8_t patterns_in(std::string_view text) const {
    uint8_t in = 0;
    for (const char byte : text) in |= beginnings_[static_cast<uint8_t>(byte)];
    return in;
  }

  /// A piece that `level` patterns have cut off.
  template <typename Sink>
  void split_piece(size_t level, std::string_view text, Sink& sink) {
    if (level == searches_.size()) return sink(text);
    split_from(level, skips_ ? patterns_in(text) : kAll, text, sink);
  }

  template <typename Sink>
  void split_from(size_t level, uint8_t may_match, std::string_view text, Sink& sink) {
    while (level < searches_.size() && (may_match >> std::min<size_t>(level, 7) & 1) == 0) ++level;
    if (level == searches_.size()) return sink(text);
    PatternSearch& search = searches_[level];
    search.begin(text);
    size_t at = 0;
    for (PatternMatch match; search.next(match);) {
      if (match.begin > at) split_piece(level + 1, text.substr(at, match.begin - at), sink);
      if (match.end > match.begin) {
        split_piece(level + 1, text.substr(match.begin, match.end - match.begin), sink);
      }
      at = match.end;
    }
    if (at < text.size()) split_piece(level + 1, text.substr(at), sink);
  }

  std::vector<PatternSearch> searches_;
  const std::array<uint8_t, 256>& beginnings_;
  bool skips_ = true;
};

}  // namespace tenon
