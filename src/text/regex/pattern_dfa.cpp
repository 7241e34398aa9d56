#include "text/regex/pattern_dfa.h"

#include <algorithm>
#include <map>
#include <optional>

namespace tenon {

/// Builds the states of one pattern, starting with the initial state.
class PatternDfaBuilder {
 public:
  PatternDfaBuilder(std::span<const PatternStep> steps, std::span<const CharSet> sets,
                    PatternDfa& out)
      : steps_(steps), sets_(sets), out_(out), seen_(steps.size()) {}

  void run() {
    if (!is_suited()) return;
    set_columns();
    const size_t num_columns = examples_.size();
    (void)row_of({0});
    for (size_t state = 0; state < states_.size(); ++state) {
      for (size_t column = 0; column < num_columns; ++column) {
        cells_.push_back(cell(*states_[state], examples_[column]));
      }
      if (states_.size() > PatternDfa::kMaxStates || work_ > kMaxWork) return;
    }
    out_.cells_ = std::move(cells_);
  }

 private:
  using State = std::vector<uint32_t>;  // steps from which a match may continue, best first
  static constexpr uint32_t kEnd = 128;
  // Most steps visited. A published pattern takes a thousandth; bounds the time for hostile ones.
  static constexpr uint64_t kMaxWork = 8'000'000;

  /// The character step of a one-character look-ahead; nothing for other looks.
  [[nodiscard]] std::optional<uint32_t> asked(uint32_t look) const {
    const PatternStep& step = steps_[look];
    const bool single = !step.behind && steps_[look + 1].op == PatternStep::Char &&
                        steps_[look + 2].op == PatternStep::Match;
    return single ? std::optional<uint32_t>(look + 1) : std::nullopt;
  }

  [[nodiscard]] bool is_suited() const {
    for (uint32_t i = 0; i < steps_.size(); ++i) {
      const PatternStep& step = steps_[i];
      if (step.op == PatternStep::Look && !asked(i)) return false;
      if (step.op == PatternStep::Assert && step.place != PatternNode::LineEnd &&
          step.place != PatternNode::TextEnd) {
        return false;
      }
    }
    return true;
  }

  /// Numbers the characters by the sets that contain them; keeps an example per number.
  void set_columns() {
    std::map<std::vector<bool>, uint8_t> known;
    for (uint32_t c = 0; c < 128; ++c) {
      std::vector<bool> in{c == '\n'};  // line anchors test it
      for (const CharSet& set : sets_) in.push_back(set.contains_ascii(static_cast<uint8_t>(c)));
      const auto [place, is_new] = known.try_emplace(in, static_cast<uint8_t>(known.size()));
      if (is_new) examples_.push_back(c);
      out_.columns_[c] = place->second;
    }
    out_.end_column_ = static_cast<uint32_t>(examples_.size());
    examples_.push_back(kEnd);
  }

  uint32_t row_of(const State& state) {
    const auto number = static_cast<uint32_t>(states_.size());
    const auto [place, is_new] = numbers_.try_emplace(state, number);
    if (is_new) states_.push_back(&place->first);
    return place->second * static_cast<uint32_t>(examples_.size());
  }

  [[nodiscard]] bool in_set(uint32_t set, uint32_t c) const {
    return c != kEnd && sets_[set].contains_ascii(static_cast<uint8_t>(c));
  }

  /// Transition of a state if `c` comes next.
  uint32_t cell(const State& state, uint32_t c) {
    State next;
    std::fill(seen_.begin(), seen_.end(), false);
    work_ += seen_.size() / 64 + state.size();
    bool matches = false;
    for (const uint32_t from : state) {
      if (follow(from, c, next)) {
        matches = true;  // later ways would only be tried after a failure
        break;
      }
    }
    const uint32_t row = next.empty() ? PatternDfa::kDead : row_of(next);
    return row << 1 | (matches ? PatternDfa::kMatches : 0);
  }

  /// Follows a step without consuming, best way first; adds the steps after `c` to `next`. True if
  /// a match ends here.
  bool follow(uint32_t from, uint32_t c, State& next) {
    std::vector<uint32_t> open{from};
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      ++work_;
      if (seen_[at]) continue;
      seen_[at] = true;
      const PatternStep& step = steps_[at];
      switch (step.op) {
        case PatternStep::Char:
          if (in_set(step.set, c)) add(at + 1, next);
          break;
        case PatternStep::Possess:
          if (in_set(step.set, c)) {
            add(step.a, next);
          } else {
            open.push_back(step.b);
          }
          break;
        case PatternStep::Split:
          open.push_back(step.b);
          open.push_back(step.a);
          break;
        case PatternStep::Jump:
          open.push_back(step.a);
          break;
        case PatternStep::Look:
          if (in_set(steps_[*asked(at)].set, c) != step.negated) open.push_back(step.a);
          break;
        case PatternStep::Assert:
          if (c == kEnd || (c == '\n' && step.place == PatternNode::LineEnd)) {
            open.push_back(at + 1);
          }
          break;
        case PatternStep::Match:
          return true;
        default:
          break;
      }
    }
    return false;
  }

  static void add(uint32_t step, State& next) {
    for (const uint32_t known : next) {
      if (known == step) return;
    }
    next.push_back(step);
  }

  std::span<const PatternStep> steps_;
  std::span<const CharSet> sets_;
  PatternDfa& out_;
  std::vector<bool> seen_;          // [steps]
  std::vector<uint32_t> examples_;  // [columns] a character, or kEnd
  std::map<State, uint32_t> numbers_;
  std::vector<const State*> states_;  // indexed by number
  std::vector<uint32_t> cells_;
  uint64_t work_ = 0;
};

PatternDfa::PatternDfa(std::span<const PatternStep> steps, std::span<const CharSet> sets) {
  PatternDfaBuilder(steps, sets, *this).run();
}

}  // namespace tenon
