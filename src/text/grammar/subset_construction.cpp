#include "text/grammar/subset_construction.h"

#include <algorithm>

#include "text/grammar/interner.h"

namespace tenon::grammar {
namespace {

/// Edges that are walked in the time of one elementary step.
constexpr uint64_t kEdgesPerStep = 16;

class SubsetBuilder {
 public:
  SubsetBuilder(const Nfa& nfa, uint32_t final) : nfa_(nfa), final_(final), marks_(nfa.marks()) {}

  Subsets build(uint32_t start) {
    const uint32_t one[] = {start};
    (void)state_of(one, true);
    for (uint32_t s = 0; s < states_.size(); ++s) expand(s);
    return std::move(out_);
  }

 private:
  /// Epsilon closure of `nodes`, ascending, in nodes_.
  void close(std::span<const uint32_t> nodes, bool at_begin, bool at_end) {
    ++marks_.stamp;
    nodes_.clear();
    for (const uint32_t node : nodes) visit(node);
    uint64_t num_edges = 0;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      nfa_.for_each_edge(nodes_[i], [&](const NfaEdge& edge) {
        ++num_edges;
        const bool passes = edge.kind == EdgeKind::Epsilon ||
                            (edge.kind == EdgeKind::Begin && at_begin) ||
                            (edge.kind == EdgeKind::End && at_end);
        if (passes) visit(edge.to);
      });
    }
    nfa_.budget().spend(nodes_.size() + num_edges / kEdgesPerStep);
    std::sort(nodes_.begin(), nodes_.end());
  }

  void visit(uint32_t node) {
    if (marks_.mark[node] == marks_.stamp) return;
    marks_.mark[node] = marks_.stamp;
    nodes_.push_back(node);
  }

  uint32_t state_of(std::span<const uint32_t> nodes, bool at_begin) {
    close(nodes, at_begin, false);
    // Nodes with only epsilon edges do not distinguish states.
    key_.clear();
    bool has_final = false, has_end = false;
    for (const uint32_t node : nodes_) {
      bool matters = node == final_;
      has_final = has_final || matters;
      nfa_.for_each_edge(node, [&](const NfaEdge& edge) {
        if (edge.kind != EdgeKind::Epsilon && edge.kind != EdgeKind::Begin) matters = true;
        if (edge.kind == EdgeKind::End) has_end = true;
      });
      if (matters) key_.push_back(node);
    }
    key_.push_back(at_begin ? 1 : 0);
    bool is_new = false;
    const uint32_t id = states_.intern(key_, &is_new);
    if (is_new) {
      nfa_.budget().add_states(1);
      finals_.push_back(has_final || (has_end && is_final(at_begin)));
    }
    return id;
  }

  bool is_final(bool at_begin) {
    key_.pop_back();
    close(key_, at_begin, true);
    return std::binary_search(nodes_.begin(), nodes_.end(), final_);
  }

  void expand(uint32_t s) {
    const auto words = states_.words(s);
    from_.assign(words.begin(), words.end() - 1);
    edges_.clear();
    ranges_.clear();
    std::vector<Special> specials;
    cuts_.clear();
    for (const uint32_t node : from_) {
      nfa_.for_each_edge(node, [&](const NfaEdge& edge) {
        if (edge.kind == EdgeKind::Bytes) {
          edges_.push_back(edge);
          cuts_.push_back(edge.low);
          cuts_.push_back(edge.high + 1u);
        } else if (edge.kind == EdgeKind::Call || edge.kind == EdgeKind::Act) {
          specials.push_back({edge.kind, edge.data, edge.to});
        }
      });
    }
    if (!edges_.empty()) {
      // Bytes between two cuts lead to the same nodes.
      std::sort(cuts_.begin(), cuts_.end());
      cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
      if (cuts_.front() > 0) nfa_.budget().spend(edges_.size());
      for (size_t cut = 0; cut + 1 < cuts_.size(); ++cut) {
        const uint32_t low = cuts_[cut], high = cuts_[cut + 1] - 1;
        targets_.clear();
        for (const NfaEdge& edge : edges_) {
          if (edge.low <= low && high <= edge.high) targets_.push_back(edge.to);
        }
        nfa_.budget().spend(edges_.size());
        std::sort(targets_.begin(), targets_.end());
        targets_.erase(std::unique(targets_.begin(), targets_.end()), targets_.end());
        if (!targets_.empty()) {
          const bool same = !ranges_.empty() && targets_ == last_targets_;
          const uint32_t to = same ? ranges_.back().to : state_of(targets_, false);
          if (same && ranges_.back().high + 1u == low) {
            ranges_.back().high = static_cast<uint8_t>(high);
          } else {
            ranges_.push_back({static_cast<uint8_t>(low), static_cast<uint8_t>(high), to});
          }
          last_targets_ = targets_;
        }
      }
      if (cuts_.back() < 256) nfa_.budget().spend(edges_.size());
    }
    for (Special& special : specials) {
      const uint32_t one[] = {special.to};
      special.to = state_of(one, false);
    }
    std::sort(specials.begin(), specials.end());
    specials.erase(std::unique(specials.begin(), specials.end()), specials.end());
    Dfa& dfa = out_.dfa;
    dfa.ranges.insert(dfa.ranges.end(), ranges_.begin(), ranges_.end());
    dfa.begin.push_back(static_cast<uint32_t>(dfa.ranges.size()));
    dfa.label.push_back(finals_[s] ? 1 : 0);
    out_.specials.push_back(std::move(specials));
  }

  const Nfa& nfa_;
  uint32_t final_;
  Nfa::Marks& marks_;
  std::vector<uint32_t> nodes_, key_, from_, cuts_, targets_, last_targets_;
  std::vector<NfaEdge> edges_;
  std::vector<ByteRange> ranges_;
  Interner states_;
  std::vector<bool> finals_;
  Subsets out_;
};

}  // namespace

Subsets make_deterministic(const Nfa& nfa, uint32_t start, uint32_t final) {
  return SubsetBuilder(nfa, final).build(start);
}

}  // namespace tenon::grammar
