// A schema in disjunctive normal form (DNF): for each type of value, shapes of which a valid one
// must have one. A shape is a conjunction, and the conjunction of two shapes is a shape or empty.
// The idea is that of Habib and others, "Finding data compatibility bugs with JSON subschema
// checking" (arXiv 1911.12651).
//
//   {"anyOf": [{"minimum": 3}, {"type": "string"}], "maximum": 9}
//     numbers: {3..9};  every other type: {any}, since minimum and maximum speak of numbers only
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

/// A subschema, or its negation, by number; a value must satisfy all of a conjunction. Empty: any
/// value. Ascending, no number twice.
using SubId = uint32_t;
using Conjunction = std::vector<SubId>;
Conjunction meet(const Conjunction& a, const Conjunction& b);

struct NumberShape {
  struct Bound {
    Decimal value;
    bool exclusive;
  };
  std::optional<Bound> lower, upper;
  bool integer = false;      ///< must be one
  bool not_integer = false;  ///< must not be one
  std::vector<Decimal> multiples, not_multiples;
  std::string spelled;  ///< spelling of a known number in the schema
};

struct StringShape {
  std::shared_ptr<const Dfa> texts;  ///< null: any
  uint64_t minimum = 0;              ///< characters
  uint64_t maximum = UINT64_MAX;
};

struct ArrayShape {
  /// Elements that satisfy `what`, how many there are.
  struct Contains {
    SubId what;
    SubId what_not;
    uint64_t minimum;
    uint64_t maximum;
  };
  std::vector<Conjunction> prefix;
  Conjunction items;  ///< of those after the prefix
  uint64_t minimum = 0;
  uint64_t maximum = UINT64_MAX;
  std::vector<Contains> contains;
  bool unique = false;
  uint64_t evaluated = 0;  ///< elements, from the first, that a subschema looked at

  [[nodiscard]] const Conjunction& element(uint64_t index) const {
    return index < prefix.size() ? prefix[index] : items;
  }
};

struct ObjectShape {
  /// What one schema object says: a property that neither is named nor matches a pattern is an
  /// additional one.
  struct Clause {
    std::map<std::string, Conjunction> named;
    std::vector<std::pair<std::shared_ptr<const Dfa>, Conjunction>> patterns;
    std::optional<Conjunction> additional;
    bool evaluates = true;  ///< counts for unevaluatedProperties
  };
  std::vector<Clause> clauses;
  std::set<std::string> required;
  std::vector<std::string> order;  ///< names in the schema's order, without duplicates
  std::map<std::string, std::set<std::string>> needs;
  std::vector<SubId> names;  ///< schemas of the names, as strings
  uint64_t minimum = 0;
  uint64_t maximum = UINT64_MAX;
};

/// A shape of one type; the members of the other types are at their defaults.
struct Shape {
  bool may_be_true = true, may_be_false = true;
  NumberShape number = {};
  StringShape string = {};
  ArrayShape array = {};
  ObjectShape object = {};
};
/// The shapes of one type; empty: no value of the type is valid.
using SchemaDnf = std::vector<Shape>;

/// Values in both; nothing when that is plainly impossible.
std::optional<Shape> meet(const Shape& a, const Shape& b, JsonType type, Budget& budget);

/// The names, and those that an object with them must have, too.
std::set<std::string> with_needed(std::set<std::string> names, const ObjectShape& shape,
                                  Budget& budget);

}  // namespace tenon::grammar
