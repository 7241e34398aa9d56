// The buffer that the tokens of a text are appended to, sized by an estimate while the text is
// read, so that a page of a long text costs as much as a page of a short one.
#pragma once

#include <cstddef>
#include <vector>

#include "base/system.h"
#include "text/tokenizer/vocabulary.h"

namespace tenon {

/// Reserves memory in `out` for the tokens of one text; the tokenizer appends them.
class TokenBuffer {
 public:
  /// All must outlive it.
  TokenBuffer(System& system, std::vector<Token>& out, size_t text_bytes)
      : system_(system), out_(out), begin_(out.size()), text_bytes_(text_bytes) {}

  /// Makes room for `count` more tokens and, when it has to grow, for those that the rest of the
  /// text is likely to have. done_bytes: of the text, whose tokens are there.
  void reserve(size_t count, size_t done_bytes) {
    if (out_.capacity() - out_.size() < count) grow(count, done_bytes);
  }

  /// Where the tokens go.
  [[nodiscard]] std::vector<Token>& tokens() { return out_; }

 private:
  void grow(size_t count, size_t done_bytes);

  System& system_;
  std::vector<Token>& out_;
  size_t begin_;
  size_t text_bytes_;
};

}  // namespace tenon
