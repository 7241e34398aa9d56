// Output buffer for the tokens of a text. Its size is estimated while the text is read, so that
// memory per page does not grow with the text.
#pragma once

#include <cstddef>
#include <vector>

#include "base/system.h"
#include "text/tokenizer/vocabulary.h"

namespace tenon {

/// Reserves memory in `out` for the tokens of one text; tokenizers append to `out`.
class TokenBuffer {
 public:
  /// All arguments must outlive it.
  TokenBuffer(System& system, std::vector<Token>& out, size_t text_bytes)
      : system_(system), out_(out), begin_(out.size()), text_bytes_(text_bytes) {}

  /// Reserves `count` more tokens. If the buffer must grow, also reserves the estimate for the rest
  /// of the text. done_bytes: bytes of the text already tokenized.
  void reserve(size_t count, size_t done_bytes) {
    if (out_.capacity() - out_.size() < count) grow(count, done_bytes);
  }

  /// The output vector.
  [[nodiscard]] std::vector<Token>& tokens() { return out_; }

 private:
  void grow(size_t count, size_t done_bytes);

  System& system_;
  std::vector<Token>& out_;
  size_t begin_;
  size_t text_bytes_;
};

}  // namespace tenon
