// Schema in disjunctive normal form (DNF): per type of value, a list of shapes, of which a valid
// value matches at least one. A shape is a conjunction, and the conjunction of two shapes is a
// shape or empty. The idea is from Habib et al., "Finding data compatibility bugs with JSON
// subschema checking" (arXiv 1911.12651).
//
//   {"anyOf": [{"minimum": 3}, {"type": "string"}], "maximum": 9}
//     numbers: {3..9};  every other type: {any}, since minimum and maximum constrain numbers only
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "text/grammar/decimal.h"
#include "text/grammar/dfa.h"

namespace tenon::grammar {

enum class JsonType : uint8_t { Null, Boolean, Number, String, Array, Object };
inline constexpr std::array kJsonTypes = {JsonType::Null,   JsonType::Boolean, JsonType::Number,
                                          JsonType::String, JsonType::Array,   JsonType::Object};

/// Number of a subschema or its negation. A value must satisfy all of a conjunction; an empty
/// conjunction allows any value. Ascending, without duplicates.
using SubId = uint32_t;
using Conjunction = std::vector<SubId>;
Conjunction meet(const Conjunction& a, const Conjunction& b);

struct NumberShape {
  struct Bound {
    Decimal value;
    bool exclusive;
  };
  std::optional<Bound> lower, upper;
  bool integer = false;      ///< must be an integer
  bool not_integer = false;  ///< must not be an integer
  std::vector<Decimal> multiples, not_multiples;
  std::string spelled;  ///< the schema's spelling of a constant number
};

struct StringShape {
  std::shared_ptr<const Dfa> texts;   ///< null for any text
  const std::string* lark = nullptr;  ///< a grammar that recurs; not with other constraints
  uint64_t minimum = 0;               ///< least length in characters
  uint64_t maximum = UINT64_MAX;
};

struct ArrayShape {
  /// Bounds on the number of elements that satisfy `what`.
  struct Contains {
    SubId what;
    SubId what_not;
    uint64_t minimum;
    uint64_t maximum;
  };
  std::vector<Conjunction> prefix;
  Conjunction items;  ///< constraint on elements after the prefix
  uint64_t minimum = 0;
  uint64_t maximum = UINT64_MAX;
  std::vector<Contains> contains;
  bool unique = false;
  uint64_t evaluated = 0;  ///< leading elements that a subschema has evaluated

  [[nodiscard]] const Conjunction& element(uint64_t index) const {
    return index < prefix.size() ? prefix[index] : items;
  }
};

struct ObjectShape {
  /// Constraints of one schema object: a property that is neither named nor matched by a pattern is
  /// additional.
  struct Clause {
    std::map<std::string, Conjunction> named;
    std::vector<std::pair<std::shared_ptr<const Dfa>, Conjunction>> patterns;
    std::optional<Conjunction> additional;
    bool evaluates = true;  ///< its properties count as evaluated for unevaluatedProperties
  };
  std::vector<Clause> clauses;
  std::set<std::string> required;
  std::vector<std::string> order;  ///< names in the schema's order, without duplicates
  std::map<std::string, std::set<std::string>> needs;
  std::vector<SubId> names;  ///< schemas of the names as strings
  uint64_t minimum = 0;
  uint64_t maximum = UINT64_MAX;
};

/// Shape of one type; the members of other types keep their defaults.
struct Shape {
  bool may_be_true = true, may_be_false = true;
  NumberShape number = {};
  StringShape string = {};
  ArrayShape array = {};
  ObjectShape object = {};
};
/// Shapes of one type; empty if no value of the type is valid.
using SchemaDnf = std::vector<Shape>;

/// Intersection; empty if it is obviously empty.
std::optional<Shape> meet(const Shape& a, const Shape& b, JsonType type, Budget& budget);

/// The names, and those that objects with them must have as well.
std::set<std::string> with_needed(std::set<std::string> names, const ObjectShape& shape,
                                  Budget& budget);

}  // namespace tenon::grammar
