// The alternatives of all subschemas that matter, worked out: which of them some value can satisfy,
// and what the writer (schema.cpp) needs to write them down.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "text/grammar/schema_shapes.h"

namespace tenon::grammar {

using NodeId = uint32_t;
inline constexpr NodeId kNoNode = UINT32_MAX;

/// Values that can be listed.
struct FewValues {
  std::vector<std::string> strings;  ///< what they say
  std::vector<Dfa> others;           ///< the texts of each: null, a boolean, a number
  [[nodiscard]] size_t size() const { return strings.size() + others.size(); }
};

/// One shape with its children.
struct Part {
  JsonType type = JsonType::Null;
  Shape shape = {};
  bool possible = false;

  std::shared_ptr<const Dfa> texts = {};  ///< Number; String: null for counted characters

  /// Array: elements[i][s]: the element at i (the last: all behind the prefix) that satisfies the
  /// set s of the shape's `contains`.
  std::vector<std::vector<NodeId>> elements = {};

  /// Array with uniqueItems: its elements' values, where they are known to be few.
  std::optional<FewValues> values = {};

  /// Object: keys by class, and what a property of the class must be.
  struct KeyClass {
    std::optional<std::string> name;
    NodeId value = kNoNode;
  };
  Dfa keys = {};
  std::vector<KeyClass> classes = {};  ///< by label - 1
};

struct PlanNode {
  Conjunction key = {};
  std::vector<Part> parts = {};
  bool possible = false;
};

class SchemaPlan {
 public:
  /// Everything below the root, node 0. Throws Error(Grammar) when no value is valid.
  SchemaPlan(const JsonValue& root, Budget& budget);
  [[nodiscard]] const std::vector<PlanNode>& nodes() const { return nodes_; }
  SchemaShapes& shapes() { return shapes_; }

 private:
  NodeId node_of(const Conjunction& all);
  void expand(NodeId node);
  void plan_string(Part& part);
  void plan_array(Part& part);
  void plan_object(Part& part);
  void list_unique();
  void find_possible();
  [[nodiscard]] bool is_possible(NodeId node) const {
    return node != kNoNode && nodes_[node].possible;
  }
  bool array_is_possible(Part& part) const;
  [[nodiscard]] std::set<std::string> possible_names(const Part& part) const;
  bool object_is_possible(const Part& part) const;

  Budget& budget_;
  SchemaShapes shapes_;
  std::vector<PlanNode> nodes_;
  std::map<Conjunction, NodeId> numbers_;
  std::map<NodeId, std::vector<size_t>> waiting_;
  std::shared_ptr<const Dfa> any_text_;
};

/// The values of a node; nothing when they may be more than kMaxFewValues, or arrays or objects.
std::optional<FewValues> few_values(const PlanNode& node, Budget& budget);
inline constexpr size_t kMaxFewValues = 256;
/// Adds the texts of an automaton; false when they may be more than kMaxFewValues.
bool add_few_words(const Dfa& dfa, Budget& budget, std::vector<std::string>& words);

/// Of an array's `contains`: beyond this count all numbers are alike.
uint64_t contains_cap(const ArrayShape::Contains& contains);

}  // namespace tenon::grammar
