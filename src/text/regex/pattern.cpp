#include "text/regex/pattern.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/utf8.h"
#include "text/unicode/char_properties.h"

namespace tenon {

/// Writes the programs of a pattern.
class PatternCompiler {
 public:
  PatternCompiler(const PatternTree& tree, Pattern& out) : tree_(tree), out_(out) {}

  void run() {
    out_.sets_ = tree_.sets;
    out_.words_ = bare_word_set();
    const PatternNode& root = tree_.nodes[tree_.root];
    std::vector<uint32_t> branches{tree_.root};
    if (root.kind == PatternNode::Choice && root.children.size() <= Pattern::kMaxBranches) {
      branches = root.children;
    }
    steps_ = &out_.quick_;
    for (const uint32_t branch : branches) {
      out_.branches_.push_back(here());
      emit(branch);
      add({});
    }
    mark_certain();
    mark_runs();
    mark_starts();
    steps_ = &out_.table_;
    num_looks_ = 0;
    emit(tree_.root);
    add({});
    order_table();
    if (!out_.loops_on_nothing_) out_.dfa_ = PatternDfa(out_.table_, out_.sets_);
    mark_begins();
  }

 private:
  /// Set of possible first characters of a program; no set if unknown.
  using First = std::optional<CharSet>;

  [[nodiscard]] uint32_t here() const { return static_cast<uint32_t>(steps_->size()); }
  [[nodiscard]] bool quick() const { return steps_ == &out_.quick_; }

  uint32_t add(PatternStep step) {
    if (steps_->size() >= Pattern::kMaxSteps) {
      fail(Code::Limit, "pattern: more than {} steps", Pattern::kMaxSteps);
    }
    steps_->push_back(step);
    return here() - 1;
  }

  uint32_t add_op(PatternStep::Op op, uint32_t set = 0) {
    PatternStep step;
    step.op = op;
    step.set = set;
    return add(step);
  }

  void emit(uint32_t number) {
    const PatternNode& node = tree_.nodes[number];
    switch (node.kind) {
      case PatternNode::Empty:
        return;
      case PatternNode::Set:
        add_op(PatternStep::Char, node.set);
        return;
      case PatternNode::Sequence:
        for (const uint32_t child : node.children) emit(child);
        return;
      case PatternNode::Choice:
        return emit_choice(node.children);
      case PatternNode::Repeat:
        return emit_repeat(node);
      case PatternNode::Look:
        return emit_look(node, node.children[0]);
      case PatternNode::Assert: {
        const uint32_t step = add_op(PatternStep::Assert);
        (*steps_)[step].place = node.place;
        return;
      }
    }
  }

  void emit_choice(const std::vector<uint32_t>& children) {
    std::vector<uint32_t> jumps;
    for (size_t i = 0; i + 1 < children.size(); ++i) {
      const uint32_t split = add_op(PatternStep::Split);
      (*steps_)[split].a = here();
      emit(children[i]);
      jumps.push_back(add_op(PatternStep::Jump));
      (*steps_)[split].b = here();
    }
    emit(children.back());
    for (const uint32_t jump : jumps) (*steps_)[jump].a = here();
  }

  void emit_repeat(const PatternNode& node) {
    const uint32_t child = node.children[0];
    const bool of_set = tree_.nodes[child].kind == PatternNode::Set;
    const bool possessive = node.greed == PatternNode::Possessive;
    if (possessive && !of_set) fail(Code::Unsupported, "pattern: a possessive group");
    if (of_set && quick() && node.greed != PatternNode::Lazy) {
      const uint32_t step = add_op(PatternStep::Run, tree_.nodes[child].set);
      (*steps_)[step].minimum = node.minimum;
      (*steps_)[step].maximum = node.maximum;
      (*steps_)[step].keeps_all = possessive;
      return;
    }
    for (uint32_t i = 0; i < node.minimum; ++i) emit(child);
    if (possessive) return emit_possessive(node, tree_.nodes[child].set);
    const bool lazy = node.greed == PatternNode::Lazy;
    std::vector<uint32_t> splits;
    if (node.maximum == PatternNode::kNoMaximum) {
      if (quick() && matches_nothing(child)) out_.loops_on_nothing_ = true;
      splits.push_back(add_op(PatternStep::Split));
      (lazy ? (*steps_)[splits[0]].b : (*steps_)[splits[0]].a) = here();
      emit(child);
      (*steps_)[add_op(PatternStep::Jump)].a = splits[0];
    } else {
      for (uint32_t i = node.minimum; i < node.maximum; ++i) {
        splits.push_back(add_op(PatternStep::Split));
        (lazy ? (*steps_)[splits.back()].b : (*steps_)[splits.back()].a) = here();
        emit(child);
      }
    }
    for (const uint32_t split : splits) {
      (lazy ? (*steps_)[split].a : (*steps_)[split].b) = here();
    }
  }

  /// For the table: a possessive run, which never gives back.
  void emit_possessive(const PatternNode& node, uint32_t set) {
    const uint32_t first = here();
    const bool endless = node.maximum == PatternNode::kNoMaximum;
    const uint32_t count = endless ? 1 : node.maximum - node.minimum;
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t step = add_op(PatternStep::Possess, set);
      (*steps_)[step].a = endless ? step : here();
      (*steps_)[step].b = first + count;
    }
  }

  void emit_look(const PatternNode& node, uint32_t child) {
    const PatternNode& inside = tree_.nodes[child];
    if (node.behind && inside.kind == PatternNode::Choice) {
      // Branches of different lengths get a look each. A negated look tests each branch.
      if (node.negated) {
        for (const uint32_t branch : inside.children) emit_look(node, branch);
        return;
      }
      std::vector<uint32_t> jumps;
      for (size_t i = 0; i < inside.children.size(); ++i) {
        const bool last = i + 1 == inside.children.size();
        const uint32_t split = last ? 0 : add_op(PatternStep::Split);
        if (!last) (*steps_)[split].a = here();
        emit_look(node, inside.children[i]);
        if (!last) jumps.push_back(add_op(PatternStep::Jump));
        if (!last) (*steps_)[split].b = here();
      }
      for (const uint32_t jump : jumps) (*steps_)[jump].a = here();
      return;
    }
    const uint32_t look = add_op(PatternStep::Look);
    if (quick()) {
      quick_looks_.push_back(look);
    } else {
      (*steps_)[look].b = quick_looks_[num_looks_++];
    }
    (*steps_)[look].negated = node.negated;
    (*steps_)[look].behind = node.behind;
    if (node.behind) {
      const auto length = fixed_length(child);
      if (!length) fail(Code::Unsupported, "pattern: a look-behind of no fixed length");
      (*steps_)[look].minimum = *length;
    }
    emit(child);
    add({});
    (*steps_)[look].a = here();
  }

  /// Number of characters in every match of a node, if it is fixed.
  [[nodiscard]] std::optional<uint32_t> fixed_length(uint32_t number) const {
    const PatternNode& node = tree_.nodes[number];
    switch (node.kind) {
      case PatternNode::Set:
        return 1;
      case PatternNode::Empty:
      case PatternNode::Look:
      case PatternNode::Assert:
        return 0;
      case PatternNode::Sequence: {
        uint32_t sum = 0;
        for (const uint32_t child : node.children) {
          const auto length = fixed_length(child);
          if (!length) return std::nullopt;
          sum += *length;
        }
        return sum;
      }
      case PatternNode::Choice: {
        const auto length = fixed_length(node.children[0]);
        for (const uint32_t child : node.children) {
          if (fixed_length(child) != length) return std::nullopt;
        }
        return length;
      }
      case PatternNode::Repeat: {
        const auto length = fixed_length(node.children[0]);
        if (!length || node.minimum != node.maximum) return std::nullopt;
        return std::min<uint64_t>(uint64_t{*length} * node.minimum, UINT32_MAX);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] bool matches_nothing(uint32_t number) const {
    const PatternNode& node = tree_.nodes[number];
    const auto child_does = [this](uint32_t child) { return matches_nothing(child); };
    switch (node.kind) {
      case PatternNode::Set:
        return false;
      case PatternNode::Sequence:
        return std::all_of(node.children.begin(), node.children.end(), child_does);
      case PatternNode::Choice:
        return std::any_of(node.children.begin(), node.children.end(), child_does);
      case PatternNode::Repeat:
        return node.minimum == 0 || matches_nothing(node.children[0]);
      default:
        return true;
    }
  }

  /// Computes the least fixed point: a loop is certain if its exit is.
  void mark_certain() {
    std::vector<PatternStep>& steps = out_.quick_;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = steps.size(); i-- > 0;) {
        PatternStep& step = steps[i];
        bool certain = step.op == PatternStep::Match;
        if (step.op == PatternStep::Run) certain = step.minimum == 0 && steps[i + 1].certain;
        if (step.op == PatternStep::Jump) certain = steps[step.a].certain;
        if (step.op == PatternStep::Split) certain = steps[step.a].certain || steps[step.b].certain;
        changed = changed || certain != step.certain;
        step.certain = certain;
      }
    }
  }

  /// Marks runs that never need to give back: their continuation is certain to match, or cannot
  /// begin with a character of the run.
  void mark_runs() {
    for (uint32_t i = 0; i < out_.quick_.size(); ++i) {
      PatternStep& step = out_.quick_[i];
      if (step.op != PatternStep::Run || step.keeps_all) continue;
      if (out_.quick_[i + 1].certain) {
        step.keeps_all = true;
        continue;
      }
      const First next = first_of(i + 1);
      step.keeps_all = next && next->disjoint(out_.sets_[step.set]);
    }
  }

  /// Set of characters of which one must come next from step `from` on, even if only tested.
  /// Nothing if a match needs no character, or another look-around comes first.
  [[nodiscard]] First first_of(uint32_t from) const {
    const PatternStep& first_step = out_.quick_[from];
    if (first_step.op == PatternStep::Look && !first_step.negated && !first_step.behind) {
      return first_of(from + 1);
    }
    CharSet set;
    std::vector<uint32_t> open{from};
    std::vector<bool> seen(out_.quick_.size(), false);
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      if (seen[at]) continue;
      seen[at] = true;
      const PatternStep& step = out_.quick_[at];
      switch (step.op) {
        case PatternStep::Char:
          set = set.united(out_.sets_[step.set]);
          break;
        case PatternStep::Run:
          set = set.united(out_.sets_[step.set]);
          if (step.minimum == 0) open.push_back(at + 1);
          break;
        case PatternStep::Split:
          open.push_back(step.a);
          open.push_back(step.b);
          break;
        case PatternStep::Jump:
          open.push_back(step.a);
          break;
        default:
          return std::nullopt;
      }
    }
    return set;
  }

  void mark_starts() {
    for (size_t i = 0; i < out_.branches_.size(); ++i) {
      const First first = first_of(out_.branches_[i]);
      const uint64_t bit = uint64_t{1} << i;
      for (uint32_t c = 0; c < 128; ++c) {
        if (!first || first->contains(c)) out_.ascii_starts_[c] |= bit;
      }
      if (!first || first->has_wide()) out_.wide_starts_ |= bit;
      if (!first) out_.empty_starts_ |= bit;
    }
  }

  void mark_begins() {
    for (size_t byte = 0; byte < out_.begins_.size(); ++byte) {
      bool begins = out_.may_be_empty();
      if (byte >= 128) {
        begins = begins || out_.wide_starts_ != 0;
      } else {
        begins = begins || (out_.dfa_.empty() ? out_.ascii_starts_[byte] != 0
                                              : out_.dfa_.may_begin(static_cast<uint8_t>(byte)));
      }
      out_.begins_[byte] = begins ? 1 : 0;
    }
  }

  /// Depth first over the edges that consume nothing, without recursion. A cycle has an edge back,
  /// which counts as failed: an empty loop achieves nothing.
  void order_table() {
    const std::vector<PatternStep>& steps = out_.table_;
    std::vector<uint8_t> stage(steps.size(), 0);
    std::vector<uint32_t> open;
    const auto next_of = [&steps](uint32_t at, uint8_t which) -> std::optional<uint32_t> {
      const PatternStep& step = steps[at];
      const bool has_a = step.op == PatternStep::Split || step.op == PatternStep::Jump ||
                         step.op == PatternStep::Look;
      if (which == 0 && has_a) return step.a;
      if (which == 0 && step.op == PatternStep::Assert) return at + 1;
      if (which == 1 && (step.op == PatternStep::Split || step.op == PatternStep::Possess)) {
        return step.b;
      }
      if (which == 1 && step.op == PatternStep::Look) return at + 1;
      return std::nullopt;
    };
    for (uint32_t start = 0; start < steps.size(); ++start) {
      if (stage[start] == 0) open.push_back(start);
      while (!open.empty()) {
        const uint32_t at = open.back();
        if (stage[at] == 3) {
          open.pop_back();
          continue;
        }
        if (stage[at] == 2) {
          stage[at] = 3;
          out_.table_order_.push_back(at);
          open.pop_back();
          continue;
        }
        const auto next = next_of(at, stage[at]++);
        if (next && stage[*next] == 0) open.push_back(*next);
      }
    }
  }

  const PatternTree& tree_;
  Pattern& out_;
  std::vector<PatternStep>* steps_ = nullptr;
  std::vector<uint32_t> quick_looks_;
  size_t num_looks_ = 0;
};

Pattern::Pattern(std::string_view source) {
  const PatternTree tree = parse_pattern(source);
  try {
    PatternCompiler(tree, *this).run();
  } catch (const Error& error) {
    fail(error.code(), "{} ({})", error.what(), quoted(source));
  }
}

}  // namespace tenon
