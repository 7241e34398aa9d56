// Cuts a text into the words inside which byte-level BPE merges, as a model's tokenizer.ggml.pre
// says; the merging itself is in bpe_tokenizer.
#pragma once

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
std::vector<Pattern> compile_patterns(std::span<const std::string_view> patterns);

/// Cuts texts into words; scratch for one thread. The patterns must outlive it.
class Splitter {
 public:
  explicit Splitter(std::span<const Pattern> patterns)
      : searches_(patterns.begin(), patterns.end()) {}

  /// Calls sink(word) for the words of `text` (well-formed UTF-8), in order; together they are the
  /// text. Linear time for a given pre-tokenizer.
  template <typename Sink>
  void split(std::string_view text, Sink&& sink) {
    if (!text.empty()) split_from(0, text, sink);
  }

  /// For tests, as PatternSearch::always_use_table.
  void always_use_tables(bool value) {
    for (PatternSearch& search : searches_) search.always_use_table(value);
  }

 private:
  template <typename Sink>
  void split_from(size_t level, std::string_view text, Sink& sink) {
    if (level == searches_.size()) return sink(text);
    PatternSearch& search = searches_[level];
    search.begin(text);
    size_t at = 0;
    for (PatternMatch match; search.next(match);) {
      if (match.begin > at) split_from(level + 1, text.substr(at, match.begin - at), sink);
      if (match.end > match.begin) {
        split_from(level + 1, text.substr(match.begin, match.end - match.begin), sink);
      }
      at = match.end;
    }
    if (at < text.size()) split_from(level + 1, text.substr(at), sink);
  }

  std::vector<PatternSearch> searches_;
};

}  // namespace tenon
