// A set of Unicode characters for patterns: closed under union, intersection and complement.
// char_properties has the named sets.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "text/unicode/general_category.h"

namespace tenon {

/// Non-ASCII code points are divided into segments; in a segment, membership depends only on the
/// general category. So \p{L} is one segment, and [一-龥] is three: none, all, none.
class CharSet {
 public:
  /// The empty set.
  CharSet() = default;
  static CharSet of_range(uint32_t first, uint32_t last);
  static CharSet of_categories(CategoryMask categories);
  static CharSet of(uint32_t code) { return of_range(code, code); }

  [[nodiscard]] CharSet united(const CharSet& other) const { return combined(other, false); }
  [[nodiscard]] CharSet intersected(const CharSet& other) const { return combined(other, true); }
  [[nodiscard]] CharSet complement() const;

  [[nodiscard]] bool contains_ascii(uint8_t byte) const noexcept { return ascii_[byte] != 0; }
  /// code: beyond ASCII.
  [[nodiscard]] bool contains_wide(uint32_t code) const noexcept {
    const CategoryMask mask = segments_.size() == 1 ? segments_[0].categories : mask_at(code);
    return mask == kAllCategories || (mask != 0 && (mask & category_bit(code)) != 0);
  }
  [[nodiscard]] bool contains(uint32_t code) const noexcept {
    return code < 128 ? contains_ascii(static_cast<uint8_t>(code)) : contains_wide(code);
  }

  /// True if no character is in both. May return false for disjoint sets that only differ in unused
  /// categories.
  [[nodiscard]] bool disjoint(const CharSet& other) const;
  [[nodiscard]] bool empty() const;
  /// True if a character beyond ASCII may be in the set.
  [[nodiscard]] bool has_wide() const;

  friend bool operator==(const CharSet&, const CharSet&) = default;

 private:
  /// Ends at the `first` of the next segment.
  struct Segment {
    uint32_t first;
    CategoryMask categories;
    friend bool operator==(const Segment&, const Segment&) = default;
  };

  [[nodiscard]] CharSet combined(const CharSet& other, bool both) const;
  [[nodiscard]] CategoryMask mask_at(uint32_t code) const noexcept;
  void append(Segment segment);

  std::array<uint8_t, 128> ascii_{};       // 1 means in the set
  std::vector<Segment> segments_{{0, 0}};  // ascending, the first from 0
};

}  // namespace tenon
