// Cuts a text into the words inside which byte-level BPE merges, as a model's tokenizer.ggml.pre
// says; the merging itself is in bpe_tokenizer.
#pragma once

#include <span>
#include <string_view>

#include "text/split_patterns.h"

namespace tenon {

/// A published pre-tokenizer: patterns applied one after another. Each cuts every piece that the
/// one before it left into its matches and what lies between them.
struct PreTokenizer {
  std::string_view name;  ///< as in tokenizer.ggml.pre
  std::span<const FindMatch> patterns;
  bool whole_words = false;  ///< a word that is itself a token is not merged piece by piece
  bool add_bos = false;      ///< the default of tokenizer.ggml.add_bos_token
};

/// The pre-tokenizer of that name (empty means "default"). Throws Error(Unsupported) that names it
/// and lists the known ones.
const PreTokenizer& pre_tokenizer_of(std::string_view name);

/// Calls sink(word) for the words of `text` (well-formed UTF-8), in order; together they are the
/// text. Linear time for a given pre-tokenizer.
template <typename Sink>
void split_words(std::span<const FindMatch> patterns, std::string_view text, Sink&& sink) {
  if (text.empty()) return;
  if (patterns.empty()) return sink(text);
  const auto rest = patterns.subspan(1);
  for (size_t at = 0; at < text.size();) {
    const Match match = patterns[0](text, at);
    if (match.begin > at) split_words(rest, text.substr(at, match.begin - at), sink);
    if (match.end > match.begin) {
      split_words(rest, text.substr(match.begin, match.end - match.begin), sink);
    }
    at = match.end;
  }
}

}  // namespace tenon
