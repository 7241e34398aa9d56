#include "text/grammar/state_mask.h"

#include <algorithm>

namespace tenon::grammar {
namespace {

// Fraction of a vocabulary whose bits take as long to set one by one as copying a whole mask.
constexpr size_t kListPart = 64;

}  // namespace

TokensByDistance::TokensByDistance(Groups groups, std::span<const uint64_t> plain,
                                   size_t vocabulary) {
  if (!plain.empty()) (void)groups[0];
  std::vector<uint64_t> bits;  // groups so far, up to the last mask
  size_t listed = 0;           // tokens since the last mask
  for (auto& [change, tokens] : groups) {
    if (change == kUnknownChange) unknown_ = tokens;
    const bool has_plain = change == 0 && !plain.empty();
    listed += tokens.size();
    if (listed <= vocabulary / kListPart && !has_plain) {
      tokens.shrink_to_fit();
      steps_.push_back({change, {}, std::move(tokens)});
      continue;
    }
    bits.resize((vocabulary + 63) / 64, 0);
    for (auto step = steps_.rbegin(); step != steps_.rend() && step->bits.empty(); ++step) {
      for (const Token token : step->list) set_bit(bits, token);
    }
    for (const Token token : tokens) set_bit(bits, token);
    for (size_t w = 0; has_plain && w < bits.size(); ++w) bits[w] |= plain[w];
    steps_.push_back({change, bits, {}});
    listed = 0;
  }
}

void TokensByDistance::add(int64_t most, MaskWords mask) const {
  const auto end =
      std::upper_bound(steps_.begin(), steps_.end(), most,
                       [](int64_t change, const Step& step) { return change < step.change; });
  auto first = end;
  while (first != steps_.begin() && (first - 1)->bits.empty()) --first;
  if (first != steps_.begin()) {
    const std::vector<uint64_t>& bits = (first - 1)->bits;
    for (size_t w = 0; w < bits.size(); ++w) mask[w] |= bits[w];
  }
  for (auto step = first; step != end; ++step) {
    for (const Token token : step->list) set_bit(mask, token);
  }
}

size_t TokensByDistance::size_bytes() const {
  size_t bytes = steps_.capacity() * sizeof(Step) + unknown_.capacity() * sizeof(Token);
  for (const Step& step : steps_) {
    bytes += step.bits.capacity() * sizeof(uint64_t) + step.list.capacity() * sizeof(Token);
  }
  return bytes;
}

size_t StateMask::size_bytes() const {
  return sizeof(StateMask) + tokens.size_bytes() +
         (entries.capacity() + exits.capacity()) * sizeof(Entry) +
         undecided.capacity() * (sizeof(Undecided) + 32);
}

}  // namespace tenon::grammar
