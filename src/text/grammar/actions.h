// What a rule remembers while it is being matched, besides its state: a number (items, characters)
// or the set of properties that an object has so far; and the actions that read and change it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tenon::grammar {

inline constexpr uint32_t kNoObject = UINT32_MAX;
/// Of a count that has no upper end.
inline constexpr uint32_t kUnlimited = UINT32_MAX;

enum class ActionKind : uint8_t {
  CountUp,  ///< number < limit, then one more; stays at `keep`, from where on all are alike
  AtLeast,  ///< number >= limit
  Within,   ///< number < limit, then counts one: for counts with only an upper bound
  Take,     ///< property `property` comes (kOther: one without a name), if it may
  Close,    ///< nothing is missing
  Check,    ///< refused during generation: a spelling that only documents may have
};

struct Action {
  ActionKind kind = ActionKind::CountUp;
  uint32_t limit = 0;
  uint32_t keep = kUnlimited;
  uint32_t object = kNoObject;
  uint32_t property = 0;
  uint32_t name_kind = 0;  ///< Take of kOther: the kind of the name
  bool soft = false;       ///< Within: ignored while checking a document
};

/// Number of a property that has none: an additional one.
inline constexpr uint32_t kOther = UINT32_MAX;

/// The rules of one object about which properties it has; not about their values.
struct ObjectSpec {
  struct Property {
    bool required = false;
    uint32_t key_bytes = 0;            ///< of the key with its quotes, when shortest
    std::vector<uint32_t> needs = {};  ///< properties that must be there if this one is, all
    uint32_t cost_bytes = 0;           ///< key, colon, shortest value, comma
  };
  std::vector<Property> properties;
  bool others = false;       ///< there may be properties without a number
  bool any_order = false;    ///< false: generate numbered properties in order
  uint32_t other_bytes = 0;  ///< what such a one takes, as cost_bytes
  uint32_t minimum = 0;
  uint32_t maximum = kUnlimited;
  /// Names without a number are not remembered. Names of different kinds are known to be different,
  /// which is what the minimum asks for: how many kinds there are. 0: it is met without.
  uint32_t name_kinds = 0;

  /// Whether every beginning of a key can go on whatever the object has so far.
  [[nodiscard]] bool always_open() const { return others && maximum == kUnlimited; }
  /// What `count` more properties take, the cheapest ones for which wanted(property) is true.
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
