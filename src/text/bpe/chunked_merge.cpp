#include "text/bpe/chunked_merge.h"

#include <numeric>

namespace tenon {
namespace {

// Part of a chunk that later symbols may change; only vocabularies made for it reach further back.
constexpr size_t kTailPart = 32;
// Most symbols held back. Seams that do not fit are rare, so 64 starting points suffice.
constexpr size_t kMostHeld = 64;

}  // namespace

size_t ChunkedMerge::num_certain(size_t size) const {
  const std::vector<uint32_t>& begins = merge_.begins();
  const size_t certain = size - size / kTailPart;
  size_t count = begins.size();
  while (count > 0 && begins[count - 1] > certain) --count;
  // The last certain symbol ends where its successor begins, so the last of all is not certain.
  return count < 2 ? 0 : count - 1;
}

size_t ChunkedMerge::hold(size_t count) {
  const size_t held = std::min(count, kMostHeld);
  const std::vector<uint32_t>& begins = merge_.begins();
  held_.clear();
  held_sizes_.clear();
  for (size_t i = count - held; i < count; ++i) {
    held_.push_back(merge_.symbols()[i]);
    held_sizes_.push_back(begins[i + 1] - begins[i]);
  }
  return held;
}

bool ChunkedMerge::fits(size_t begin, size_t size) {
  const std::vector<uint32_t>& begins = merge_.begins();
  const size_t first_size = begins.size() > 1 ? begins[1] : size;
  const auto pair_begin = from_.begin() + static_cast<std::ptrdiff_t>(begin - held_sizes_.back());
  pair_.assign(pair_begin, from_.begin() + static_cast<std::ptrdiff_t>(begin + first_size));
  (void)merge_symbols(table_, pair_);
  return pair_.size() == 2 && pair_[0] == held_.back() && pair_[1] == merge_.symbols()[0];
}

size_t ChunkedMerge::step_back(size_t count) {
  size_t made_of = 0;
  for (; count > 0; --count) {
    made_of += held_sizes_.back();
    held_.pop_back();
    held_sizes_.pop_back();
  }
  return made_of;
}

size_t ChunkedMerge::forget(size_t begin) {
  const size_t kept = std::accumulate(held_sizes_.begin(), held_sizes_.end(), size_t{0});
  from_.erase(from_.begin(), from_.begin() + static_cast<std::ptrdiff_t>(begin - kept));
  return begin - kept;
}

}  // namespace tenon
