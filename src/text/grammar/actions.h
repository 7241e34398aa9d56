// Register of a rule: state beside the automaton's while the rule is matched, either a number
// (items, characters) or the set of an object's properties so far. Actions read and change it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tenon::grammar {

inline constexpr uint32_t kNoObject = UINT32_MAX;
/// Upper bound of an unbounded count.
inline constexpr uint32_t kUnlimited = UINT32_MAX;

enum class ActionKind : uint8_t {
  /// Number < limit, then increments; saturates at `keep`, where larger counts are equivalent.
  CountUp,
  AtLeast,  ///< number >= limit
  Within,   ///< number < limit, then increments; for counts with only an upper bound
  Take,     ///< adds `property` if allowed; kOther: a property without a number
  Close,    ///< no required property is missing
  Check,    ///< refused during generation: marks spellings for documents only
};

struct Action {
  ActionKind kind = ActionKind::CountUp;
  uint32_t limit = 0;
  uint32_t keep = kUnlimited;
  uint32_t object = kNoObject;
  uint32_t property = 0;
  uint32_t name_kind = 0;  ///< kind of the name in a Take of kOther
  bool soft = false;       ///< a Within that checking a document ignores
};

/// Number of an additional property, which has none of its own.
inline constexpr uint32_t kOther = UINT32_MAX;

/// Rules on an object's set of properties; values are not covered.
struct ObjectSpec {
  struct Property {
    bool required = false;
    uint32_t key_bytes = 0;            ///< shortest spelling of the key with its quotes
    std::vector<uint32_t> needs = {};  ///< all properties that this property requires
    uint32_t cost_bytes = 0;           ///< key, colon, shortest value, comma
  };
  std::vector<Property> properties;
  bool others = false;       ///< properties without a number are allowed
  bool any_order = false;    ///< false: generate numbered properties in order
  uint32_t other_bytes = 0;  ///< shortest additional property, as cost_bytes
  uint32_t minimum = 0;
  uint32_t maximum = kUnlimited;
  /// Number of kinds of additional names; 0 means that the minimum does not need them. Additional
  /// names are not remembered, but names of different kinds are known to differ, which lets the
  /// minimum count them.
  uint32_t name_kinds = 0;

  /// True if every prefix of a key is allowed, whatever the set holds.
  [[nodiscard]] bool always_open() const { return others && maximum == kUnlimited; }
  /// Bytes of the `count` cheapest further properties among those with wanted(property).
  template <typename Wanted>
  [[nodiscard]] uint64_t cheapest_bytes(uint64_t count, Wanted wanted) const {
    std::vector<uint32_t> costs;
    for (uint32_t p = 0; p < properties.size(); ++p) {
      const uint32_t cost = properties[p].cost_bytes;
      if (wanted(p) && !(others && cost >= other_bytes)) costs.push_back(cost);
    }
    std::sort(costs.begin(), costs.end());
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count && i < costs.size(); ++i) sum += costs[i];
    return count > costs.size() ? sum + (count - costs.size()) * uint64_t{other_bytes} : sum;
  }
  [[nodiscard]] bool counts() const { return minimum > 0 || maximum != kUnlimited; }
};

}  // namespace tenon::grammar
