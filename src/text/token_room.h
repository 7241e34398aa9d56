// Room for the tokens of a text, estimated while it is read, so that a long text costs a page as
// much as a short one.
#pragma once

#include <cstddef>
#include <vector>

#include "text/vocabulary.h"

namespace tenon {

/// Reserves room in `out` for the tokens of one text; they are appended by others.
class TokenRoom {
 public:
  TokenRoom(std::vector<Token>& out, size_t text_bytes)
      : out_(out), begin_(out.size()), text_bytes_(text_bytes) {}

  /// Room for `count` more tokens, and by the way for those of the rest of the text; `done_bytes`
  /// of it are done with.
  void need(size_t count, size_t done_bytes) {
    if (out_.capacity() - out_.size() < count) grow(count, done_bytes);
  }

  /// Where the tokens go.
  [[nodiscard]] std::vector<Token>& tokens() { return out_; }

 private:
  void grow(size_t count, size_t done_bytes);

  std::vector<Token>& out_;
  size_t begin_;
  size_t text_bytes_;
};

}  // namespace tenon
