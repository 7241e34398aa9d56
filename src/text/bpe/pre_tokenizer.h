// Cuts a text into the words inside which byte-level BPE merges, as a model's tokenizer.ggml.pre
// says; the merging itself is in bpe_tokenizer.
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

/// A published pre-tokenizer: patterns applied one after another. Each cuts every piece that the
/// one before it left into its matches and what lies between them.
struct PreTokenizer {
  std::string_view name;  ///< as in tokenizer.ggml.pre
  std::span<const std::string_view> patterns;
  bool whole_words = false;  ///< a word that is itself a token is not merged piece by piece
  bool add_bos = false;      ///< the default of tokenizer.ggml.add_bos_token
  /// The vocabulary spells characters, with U+2581 for a space, instead of bytes.
  bool characters = false;
  bool drops_spaces = false;  ///< white space separates words and becomes nothing
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

/// Takes words, and remembers what became of the pieces that patterns have yet to cut.
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

  /// Calls sink(word) for the words of `text` (well-formed UTF-8), in order; together they are the
  /// text. Linear time for a given pre-tokenizer. What a piece becomes after the first `level`
  /// patterns depends on nothing else, so a sink may remember it: where recall(level, piece) is
  /// true, it has dealt with the piece; remember(level, piece, mark) follows the words of one that
  /// it did not know, mark being what mark() said before them.
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
    const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
    uint8_t in = 0;
    size_t at = 0;
    for (; at + 4 <= text.size(); at += 4) {  // so that loads do not wait for each other
      in |= beginnings_[bytes[at]] | beginnings_[bytes[at + 1]] | beginnings_[bytes[at + 2]] |
            beginnings_[bytes[at + 3]];
    }
    for (; at < text.size(); ++at) in |= beginnings_[bytes[at]];
    return in;
  }

  /// A piece that `level` patterns have cut off.
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
