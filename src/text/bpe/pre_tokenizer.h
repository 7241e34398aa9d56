// Cuts a text into the words inside which BPE merges, as a model's tokenizer.ggml.pre says. Merging
// is in bpe_tokenizer.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/regex/pattern_search.h"

namespace tenon {

/// A published pre-tokenizer: patterns applied in turn. Each pattern cuts every piece into its
/// matches and the text between them.
struct PreTokenizer {
  std::string_view name;  ///< value of tokenizer.ggml.pre
  std::span<const std::string_view> patterns;
  bool whole_words = false;  ///< words that are tokens themselves are not merged
  bool add_bos = false;      ///< default of tokenizer.ggml.add_bos_token
  /// The vocabulary spells characters, with U+2581 for a space, instead of bytes.
  bool characters = false;
  bool drops_spaces = false;  ///< white space separates words and is dropped
};

/// The pre-tokenizer with this name (empty means "default"). Throws Unsupported, naming it and the
/// nearest known name.
const PreTokenizer& pre_tokenizer_of(std::string_view name);

/// All known pre-tokenizers.
std::span<const PreTokenizer> pre_tokenizers();

/// The compiled patterns of a pre-tokenizer; immutable.
struct SplitPatterns {
  std::vector<Pattern> patterns;
  /// [bytes] bit i: a match of patterns[i] may begin with the byte; bit 7 covers all patterns from
  /// 7 on.
  std::array<uint8_t, 256> beginnings{};
};
SplitPatterns compile_patterns(std::span<const std::string_view> patterns);

/// Sink of words that caches the results of pieces still to be cut.
template <typename Sink>
concept RemembersPieces = requires(Sink sink, size_t level, std::string_view piece, size_t mark) {
  { sink.recall(level, piece) } -> std::same_as<bool>;
  { sink.mark() } -> std::same_as<size_t>;
  sink.remember(level, piece, mark);
};

/// Cuts texts into words; scratch for one thread. The patterns must outlive it.
class Splitter {
 public:
  explicit Splitter(const SplitPatterns& patterns)
      : searches_(patterns.patterns.begin(), patterns.patterns.end()),
        beginnings_(patterns.beginnings) {}

  /// Calls sink(word) for the words of `text` (well-formed UTF-8), in order; their concatenation is
  /// the text. Linear time for a given pre-tokenizer. The words of a piece after the first `level`
  /// patterns depend only on the piece, so a sink may cache them. recall(level, piece) returns true
  /// if it has handled the piece; remember(level, piece, mark) follows the words of an unknown
  /// piece, with the result of mark() before them.
  template <typename Sink>
  void split(std::string_view text, Sink&& sink) {
    if (!text.empty()) split_from(0, kAll, text, sink);
  }

  /// For tests, like PatternSearch::always_use_table.
  void always_use_tables(bool value) {
    for (PatternSearch& search : searches_) search.always_use_table(value);
    skips_ = !value;
  }

 private:
  static constexpr uint8_t kAll = 0xFF;

  /// Bit set of patterns that may match in a piece. Most words have at most one.
  [[nodiscard]] uint8_t patterns_in(std::string_view text) const {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
    uint8_t in = 0;
    size_t at = 0;
    for (; at + 4 <= text.size(); at += 4) {  // unrolled, so that loads do not wait for each other
      in |= beginnings_[bytes[at]] | beginnings_[bytes[at + 1]] | beginnings_[bytes[at + 2]] |
            beginnings_[bytes[at + 3]];
    }
    for (; at < text.size(); ++at) in |= beginnings_[bytes[at]];
    return in;
  }

  /// Cuts a piece that the first `level` patterns produced.
  template <typename Sink>
  void split_piece(size_t level, std::string_view text, Sink& sink) {
    if (level == searches_.size()) return sink(text);
    const uint8_t may_match = skips_ ? patterns_in(text) : kAll;
    if constexpr (RemembersPieces<Sink>) {
      if ((may_match >> std::min<size_t>(level, 7)) == 0) return sink(text);
      if (sink.recall(level, text)) return;
      const size_t mark = sink.mark();
      split_from(level, may_match, text, sink);
      sink.remember(level, text, mark);
    } else {
      split_from(level, may_match, text, sink);
    }
  }

  template <typename Sink>
  void split_from(size_t level, uint8_t may_match, std::string_view text, Sink& sink) {
    PatternMatch match;
    for (;; ++level) {
      if (level == searches_.size()) return sink(text);
      if ((may_match >> std::min<size_t>(level, 7) & 1) == 0) continue;
      searches_[level].begin(text);
      if (searches_[level].next(match)) break;
    }
    PatternSearch& search = searches_[level];
    size_t at = 0;
    do {
      if (match.begin > at) split_piece(level + 1, text.substr(at, match.begin - at), sink);
      if (match.end > match.begin) {
        split_piece(level + 1, text.substr(match.begin, match.end - match.begin), sink);
      }
      at = match.end;
    } while (search.next(match));
    if (at < text.size()) split_piece(level + 1, text.substr(at), sink);
  }

  std::vector<PatternSearch> searches_;
  const std::array<uint8_t, 256>& beginnings_;
  bool skips_ = true;
};

}  // namespace tenon
