#include "text/grammar/nfa.h"

namespace tenon::grammar {

uint32_t Nfa::add_node() {
  budget_->add_nodes(1);
  budget_->hold_bytes(sizeof(first_[0]));
  first_.push_back(kNoEdge);
  return num_nodes() - 1;
}

void Nfa::add_edge(uint32_t from, NfaEdge edge) {
  budget_->spend(1);
  budget_->hold_bytes(sizeof(edge));
  edge.next = first_[from];
  first_[from] = static_cast<uint32_t>(edges_.size());
  edges_.push_back(edge);
}

void Nfa::add_act(uint32_t from, const Action& action, uint32_t to) {
  actions_.push_back(action);
  add_edge(from,
           {.kind = EdgeKind::Act, .data = static_cast<uint32_t>(actions_.size() - 1), .to = to});
}

uint32_t Nfa::add_text(uint32_t from, std::string_view text) {
  for (const char c : text) {
    const uint32_t next = add_node();
    add_bytes(from, static_cast<uint8_t>(c), static_cast<uint8_t>(c), next);
    from = next;
  }
  return from;
}

uint32_t Nfa::add_rule(std::string place) {
  NfaRule rule;
  rule.start = add_node();
  rule.final = add_node();
  rule.place = std::move(place);
  rule.unit = budget_->unit();
  rules_.push_back(std::move(rule));
  return static_cast<uint32_t>(rules_.size() - 1);
}

}  // namespace tenon::grammar
