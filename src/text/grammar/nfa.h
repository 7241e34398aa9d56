// Nondeterministic finite automaton (NFA) over bytes whose edges may also call rules, which makes
// it a recursive transition network (Woods 1970), and act on a rule's register. Every notation is
// first converted to an NFA; automaton.h turns it into tables.
//
//   value = digit | "[" value "]"
//     0 -digit-> 1,  0 -[-> 2,  2 -value-> 3,  3 -]-> 1;  start 0, final 1
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/actions.h"
#include "text/grammar/budget.h"

namespace tenon::grammar {

enum class EdgeKind : uint8_t {
  Bytes,    ///< a byte in low..high
  Epsilon,  ///< nothing
  Begin,    ///< nothing; only at the beginning of the text
  End,      ///< nothing; only at the end of the text
  Call,     ///< a whole text of rule `data`
  Act,      ///< nothing; only if action `data` allows it
};

inline constexpr uint32_t kNoEdge = UINT32_MAX;

struct CompiledPart;
struct LinkedPart;

struct NfaEdge {
  EdgeKind kind;
  uint8_t low = 0;
  uint8_t high = 0;
  uint32_t data = 0;
  uint32_t to = 0;
  uint32_t next = kNoEdge;  ///< next edge of the same node
};

/// Ends of a rule, and the initial content of its register.
struct NfaRule {
  uint32_t start = 0;
  uint32_t final = 0;
  uint32_t object = kNoObject;  ///< object whose property set the register holds
  bool counts = false;          ///< the register holds a number
  std::string place;            ///< place for messages
  Budget::Unit unit = Budget::kWhole;
  /// Set for a rule of a compiled part, which has no nodes; else null.
  std::shared_ptr<const LinkedPart> linked = nullptr;
  uint32_t part_rule = 0;     ///< rule number within the part
  uint32_t first_action = 0;  ///< first action of that rule
};

/// Append-only; nodes and rules are numbered from 0. Rule 0 is the whole text.
class Nfa {
 public:
  explicit Nfa(Budget& budget) : budget_(&budget) {}

  uint32_t add_node();
  void add_edge(uint32_t from, NfaEdge edge);
  void add_bytes(uint32_t from, uint8_t low, uint8_t high, uint32_t to) {
    add_edge(from, {.kind = EdgeKind::Bytes, .low = low, .high = high, .to = to});
  }
  /// Adds nothing if the last edge of `from` is equal.
  void add_epsilon(uint32_t from, uint32_t to) {
    const uint32_t last = first_[from];
    if (last != kNoEdge && edges_[last].kind == EdgeKind::Epsilon && edges_[last].to == to) {
      return budget_->spend(1);
    }
    add_edge(from, {.kind = EdgeKind::Epsilon, .to = to});
  }
  void add_call(uint32_t from, uint32_t rule, uint32_t to) {
    add_edge(from, {.kind = EdgeKind::Call, .data = rule, .to = to});
  }
  void add_act(uint32_t from, const Action& action, uint32_t to);
  /// Adds edges for the bytes of `text` and returns the new last node.
  uint32_t add_text(uint32_t from, std::string_view text);
  /// Adds a rule with new nodes for its ends.
  uint32_t add_rule(std::string place);

  /// Links a compiled part (compiled_part.h) once, and returns its first rule.
  uint32_t link(const std::shared_ptr<const CompiledPart>& part);

  [[nodiscard]] NfaRule& rule(uint32_t index) { return rules_[index]; }
  [[nodiscard]] std::span<const NfaRule> rules() const { return rules_; }
  [[nodiscard]] uint32_t num_nodes() const { return static_cast<uint32_t>(first_.size()); }
  [[nodiscard]] const std::vector<Action>& actions() const { return actions_; }
  [[nodiscard]] Budget& budget() const { return *budget_; }
  std::vector<ObjectSpec> objects;

  /// Visited marks of nodes for walks over the NFA; see make_deterministic.
  struct Marks {
    std::vector<uint32_t> mark;  ///< [nodes] stamp of the last walk that visited the node
    uint32_t stamp = 0;
  };
  [[nodiscard]] Marks& marks() const {
    marks_.mark.resize(num_nodes(), 0);
    return marks_;
  }

  /// Calls visit(edge) for each edge of a node.
  template <typename Visit>
  void for_each_edge(uint32_t node, Visit visit) const {
    for (uint32_t i = first_[node]; i != kNoEdge; i = edges_[i].next) visit(edges_[i]);
  }

 private:
  Budget* budget_;
  std::vector<uint32_t> first_;  // [nodes]
  std::vector<NfaEdge> edges_;
  std::vector<NfaRule> rules_;
  std::vector<Action> actions_;
  // First rule per part; rules_ keeps the parts alive.
  std::map<const CompiledPart*, uint32_t> linked_;
  mutable Marks marks_;
};

}  // namespace tenon::grammar
