// Decodes tokens as they arrive into text that is whole UTF-8 characters at every moment.
#pragma once

#include <string>
#include <string_view>

#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// Holds back a character spread over several tokens until it is whole. Each maximal ill-formed
/// part becomes one U+FFFD. So all results of push() and finish() are well-formed UTF-8, and their
/// concatenation is the decoded text.
///
/// The tokenizer must outlive the decoder. One thread at a time.
class StreamDecoder {
 public:
  struct Options {
    bool render_special = false;      ///< show control and unknown tokens by their names
    bool strip_space_prefix = false;  ///< see DecodeOptions; only for a text that starts here
  };

  explicit StreamDecoder(const Tokenizer& tokenizer) : StreamDecoder(tokenizer, Options{}) {}
  StreamDecoder(const Tokenizer& tokenizer, Options options);

  /// Returns the text completed by `token`: whole characters, possibly none. Valid until the next
  /// call. Throws Argument for an id outside the vocabulary and leaves the stream unchanged.
  std::string_view push(Token token);

  /// Ends the stream; held bytes become U+FFFD. The decoder can be reused.
  std::string_view finish();

  /// True if bytes of an unfinished character are held back.
  [[nodiscard]] bool holds_partial() const { return !held_.empty(); }

 private:
  const Tokenizer* tokenizer_;
  Options options_;
  bool at_start_ = true;
  std::string held_;  // start of a character, at most three bytes
  std::string text_;  // result of the last call
};

}  // namespace tenon
