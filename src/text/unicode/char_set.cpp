#include "text/unicode/char_set.h"

#include <algorithm>

namespace tenon {

CharSet CharSet::of_range(uint32_t first, uint32_t last) {
  CharSet set;
  for (uint32_t code = first; code <= last && code < 128; ++code) set.ascii_[code] = 1;
  if (last >= 128) {
    set.append({std::max(first, 128u), kAllCategories});
    set.append({last + 1, 0});
  }
  return set;
}

CharSet CharSet::of_categories(CategoryMask categories) {
  CharSet set;
  for (uint32_t code = 0; code < 128; ++code) {
    set.ascii_[code] = (category_bit(code) & categories) != 0 ? 1 : 0;
  }
  set.segments_ = {{0, categories}};
  return set;
}

CharSet CharSet::complement() const {
  CharSet set = *this;
  for (uint8_t& in : set.ascii_) in ^= 1;
  for (Segment& segment : set.segments_) segment.categories ^= kAllCategories;
  return set;
}

CharSet CharSet::combined(const CharSet& other, bool both) const {
  CharSet set;
  for (size_t i = 0; i < ascii_.size(); ++i) {
    set.ascii_[i] = both ? ascii_[i] & other.ascii_[i] : ascii_[i] | other.ascii_[i];
  }
  set.segments_.clear();
  for (size_t a = 0, b = 0; a < segments_.size() && b < other.segments_.size();) {
    const CategoryMask left = segments_[a].categories;
    const CategoryMask right = other.segments_[b].categories;
    set.append({std::max(segments_[a].first, other.segments_[b].first),
                both ? left & right : left | right});
    const uint64_t next_a = a + 1 < segments_.size() ? segments_[a + 1].first : UINT64_MAX;
    const uint64_t next_b =
        b + 1 < other.segments_.size() ? other.segments_[b + 1].first : UINT64_MAX;
    if (next_a <= next_b) ++a;
    if (next_b <= next_a) ++b;
  }
  return set;
}

bool CharSet::disjoint(const CharSet& other) const { return intersected(other).empty(); }

bool CharSet::empty() const {
  return !has_wide() &&
         std::all_of(ascii_.begin(), ascii_.end(), [](uint8_t in) { return in == 0; });
}

bool CharSet::has_wide() const {
  return std::any_of(segments_.begin(), segments_.end(),
                     [](const Segment& segment) { return segment.categories != 0; });
}

CategoryMask CharSet::mask_at(uint32_t code) const noexcept {
  const auto after = std::upper_bound(
      segments_.begin(), segments_.end(), code,
      [](uint32_t value, const Segment& segment) { return value < segment.first; });
  return std::prev(after)->categories;
}

void CharSet::append(Segment segment) {
  if (!segments_.empty() && segments_.back().first == segment.first) segments_.pop_back();
  if (!segments_.empty() && segments_.back().categories == segment.categories) return;
  segments_.push_back(segment);
}

}  // namespace tenon
