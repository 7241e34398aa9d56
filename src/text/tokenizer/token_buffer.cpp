#include "text/tokenizer/token_buffer.h"

#include <algorithm>
#include <utility>

#include "base/huge_pages.h"

namespace tenon {
namespace {

constexpr size_t kFirst = 16384;  // tokens at first
// Least count for an estimate: callers may have read kFirst bytes beyond the tokens they have made.
constexpr size_t kEnough = 8 * kFirst;

}  // namespace

void TokenBuffer::grow(size_t count, size_t done_bytes) {
  const size_t made = out_.size() - begin_;
  size_t rest = std::min(text_bytes_ - std::min(done_bytes, text_bytes_), kFirst);
  if (made >= kEnough && done_bytes > 0) {
    // Estimate a fifth more than the rate so far.
    const double per_byte = 1.2 * static_cast<double>(made) / static_cast<double>(done_bytes);
    rest = static_cast<size_t>(
        per_byte * static_cast<double>(text_bytes_ - std::min(done_bytes, text_bytes_)));
  }
  // Grow by at least half, so that a text with a changing rate is not copied again and again.
  const size_t wanted = std::max(count + rest, out_.capacity() / 2);
  std::vector<Token> larger;
  larger.reserve(out_.size() + wanted);
  // Ask before the memory is touched.
  ask_for_huge_pages(system_, larger.data(), larger.capacity() * sizeof(Token));
  larger.assign(out_.begin(), out_.end());
  out_ = std::move(larger);
}

}  // namespace tenon
