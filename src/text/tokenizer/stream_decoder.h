// Turns tokens that arrive one by one into text that is whole UTF-8 characters at every moment.
#pragma once

#include <string>
#include <string_view>

#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// Decodes a stream of tokens. A character whose bytes are spread over several tokens is held back
/// until it is whole; each maximal ill-formed part becomes one U+FFFD. So everything that push()
/// and finish() return is well-formed UTF-8, and together it is the decoded text.
///
/// The tokenizer must outlive the decoder. One thread at a time.
class StreamDecoder {
 public:
  struct Options {
    bool render_special = false;      ///< show control and unknown tokens by their names
    bool strip_space_prefix = false;  ///< as DecodeOptions; only for a text that starts here
  };

  explicit StreamDecoder(const Tokenizer& tokenizer) : StreamDecoder(tokenizer, Options{}) {}
  StreamDecoder(const Tokenizer& tokenizer, Options options);

  /// The text that `token` completes: whole characters, possibly none. Valid until the next call.
  /// Throws Error(Argument) for an id outside the vocabulary; the stream is then unchanged.
  std::string_view push(Token token);

  /// The end of the stream: what was held back, as U+FFFD. Leaves the decoder as new.
  std::string_view finish();

  /// Whether bytes of an unfinished character are held back.
  [[nodiscard]] bool holds_partial() const { return !held_.empty(); }

 private:
  const Tokenizer* tokenizer_;
  Options options_;
  bool at_start_ = true;
  std::string held_;  // at most three bytes: the beginning of one character
  std::string text_;  // what the last call returned
};

}  // namespace tenon
