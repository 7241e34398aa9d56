#include "text/tokenizer/token_buffer.h"

#include <algorithm>
#include <utility>

#include "base/huge_pages.h"

namespace tenon {
namespace {

constexpr size_t kFirst = 16384;  // tokens at first
// Before the first estimate: callers may have read a piece of kFirst bytes further than they have
// tokens for.
constexpr size_t kEnough = 8 * kFirst;

}  // namespace

void TokenBuffer::grow(size_t count, size_t done_bytes) {
  const size_t made = out_.size() - begin_;
  size_t rest = std::min(text_bytes_ - std::min(done_bytes, text_bytes_), kFirst);
  if (made >= kEnough && done_bytes > 0) {
    // A fifth more than the text had so far.
    const double per_byte = 1.2 * static_cast<double>(made) / static_cast<double>(done_bytes);
    rest = static_cast<size_t>(
        per_byte * static_cast<double>(text_bytes_ - std::min(done_bytes, text_bytes_)));
  }
  // Never by less than half, so that a text which changes its ways is not copied again and again.
  const size_t wanted = std::max(count + rest, out_.capacity() / 2);
  std::vector<Token> larger;
  larger.reserve(out_.size() + wanted);
  // Before it is touched.
  ask_for_huge_pages(system_, larger.data(), larger.capacity() * sizeof(Token));
  larger.assign(out_.begin(), out_.end());
  out_ = std::move(larger);
}

}  // namespace tenon
