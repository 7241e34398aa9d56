// Compiles a schema: finds the relevant subschemas, their alternatives, and which of these are
// satisfiable. schema.cpp writes them into an NFA.
//
//   {"type": ["null", "array"], "items": {"enum": [1, 2]}}
//     node 0: alternatives null; array with elements node 1
//     node 1: alternative number, texts 1|2
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "text/grammar/count_limit.h"
#include "text/grammar/few_values.h"
#include "text/grammar/schema_normalizer.h"

namespace tenon::grammar {

using NodeId = uint32_t;
inline constexpr NodeId kNoNode = UINT32_MAX;

/// Shape of a DNF with its children.
struct Alternative {
  JsonType type = JsonType::Null;
  Shape shape = {};
  bool possible = false;

  /// For Number and String; null for counted characters.
  std::shared_ptr<const Dfa> texts = {};
  /// For Number and String: additional upper bound on `texts`, counted while reading.
  std::optional<CountLimit> counted = {};
  uint64_t kept_number = 0;  ///< LimitedTexts::number of `texts` and `counted`; 0: not kept
  /// For Number: all spellings of a number generated in the schema's spelling; else null.
  std::shared_ptr<const Dfa> checked = {};

  /// For Array: elements[i][s] is the element at i (the last: all after the prefix) that satisfies
  /// the set s of the shape's `contains`.
  std::vector<std::vector<NodeId>> elements = {};

  /// For Array with uniqueItems: the elements' values if they are known to be few.
  std::optional<FewValues> values = {};

  /// For Object: class of keys, with the node of its values.
  struct KeyClass {
    std::optional<std::string> name;
    NodeId value = kNoNode;
  };
  Dfa keys = {};
  std::vector<KeyClass> classes = {};  ///< indexed by label - 1
};

struct SchemaNode {
  Conjunction key = {};
  std::vector<Alternative> alternatives = {};
  bool possible = false;
};

class SchemaCompiler {
 public:
  /// Compiles the root, node 0, and everything below it. Throws Error(Grammar) if no value is
  /// valid.
  ///   refusals  may be null; else receives the refused keywords, which are skipped
  SchemaCompiler(const JsonValue& root, KeptParts& kept, Budget& budget,
                 std::vector<Refusal>* refusals = nullptr);
  [[nodiscard]] const std::vector<SchemaNode>& nodes() const { return nodes_; }
  SchemaNormalizer& normalizer() { return normalizer_; }

 private:
  NodeId node_of(const Conjunction& all);
  void expand(NodeId node);
  void compile_number(Alternative& alternative);
  void compile_string(Alternative& alternative);
  static void take(const std::shared_ptr<const LimitedTexts>& limited, Alternative& alternative);
  void write_out_length(Alternative& alternative);
  void compile_array(Alternative& alternative);
  void compile_object(Alternative& alternative);
  void list_unique();
  void find_possible();
  [[nodiscard]] bool is_possible(NodeId node) const {
    return node != kNoNode && nodes_[node].possible;
  }
  bool array_is_possible(Alternative& alternative) const;
  [[nodiscard]] std::set<std::string> possible_names(const Alternative& alternative) const;
  bool object_is_possible(const Alternative& alternative) const;

  KeptParts& kept_;
  Budget& budget_;
  SchemaNormalizer normalizer_;
  std::vector<SchemaNode> nodes_;
  std::map<Conjunction, NodeId> numbers_;
  std::map<NodeId, std::vector<size_t>> waiting_;
  std::shared_ptr<const Dfa> any_text_;
};

/// Count of a `contains` beyond which all counts are equivalent.
uint64_t contains_cap(const ArrayShape::Contains& contains);

}  // namespace tenon::grammar
