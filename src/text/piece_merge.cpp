#include "text/piece_merge.h"

namespace tenon {
namespace {

// What follows reaches further back than a part of the piece only in vocabularies made for it.
constexpr size_t kTailPart = 32;

}  // namespace

size_t PieceMerge::num_certain(std::span<const Symbol> piece) {
  const std::vector<uint32_t>& begins = merge_.begins();
  const size_t certain = piece.size() - piece.size() / kTailPart;
  size_t count = begins.size();
  while (count > 0 && begins[count - 1] > certain) --count;
  // The last symbol kept ends where the next one begins.
  if (count < 2) return 0;
  --count;
  const std::span<const Symbol> last =
      piece.subspan(begins[count - 1], begins[count] - begins[count - 1]);
  last_.assign(last.begin(), last.end());
  last_symbol_ = merge_.symbols()[count - 1];
  return count;
}

bool PieceMerge::fits(std::span<const Symbol> piece) {
  const std::vector<uint32_t>& begins = merge_.begins();
  const size_t first_size = begins.size() > 1 ? begins[1] : piece.size();
  last_.insert(last_.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(first_size));
  (void)merge_symbols(table_, last_);
  return last_.size() == 2 && last_[0] == last_symbol_ && last_[1] == merge_.symbols()[0];
}

}  // namespace tenon
