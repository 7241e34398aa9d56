#include "text/grammar/follow.h"

#include <algorithm>

namespace tenon::grammar {
namespace {

// Sets grow until a fixed point, one round per level of rules that begin or end with rules. Only
// contrived grammars need more rounds: every byte then counts as following.
constexpr int kMaxRounds = 64;

/// FIRST sets of the states that rules and special edges lead to.
class Firsts {
 public:
  explicit Firsts(const Automaton& automaton) : automaton_(automaton) {
    place_.assign(automaton.num_states(), kNone);
    for (uint32_t r = 0; r < automaton.num_rules(); ++r) add(automaton.rule(r).start);
    for (uint32_t s = 1; s < automaton.num_states(); ++s) {
      for (const Special& special : automaton.specials(s)) add(special.to);
    }
  }

  /// Grows the sets to their fixed point; false if that takes too many rounds.
  bool grow() {
    for (int round = 0; round < kMaxRounds; ++round) {
      bool grew = false;
      for (size_t i = states_.size(); i-- > 0;) grew |= grow(i);
      if (!grew) return true;
    }
    return false;
  }

  [[nodiscard]] const ByteSet& bytes(uint32_t state) const { return bytes_[place_[state]]; }
  /// True if the rule may end at the state.
  [[nodiscard]] bool ends(uint32_t state) const { return ends_[place_[state]]; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  void add(uint32_t state) {
    if (place_[state] != kNone) return;
    place_[state] = static_cast<uint32_t>(states_.size());
    states_.push_back(state);
    ends_.push_back(automaton_.is_final(state));
    ByteSet& bytes = bytes_.emplace_back();
    for (uint32_t b = 0; b < 256; ++b) {
      bytes[b] = automaton_.next(state, automaton_.class_of(static_cast<uint8_t>(b))) != 0;
    }
  }

  bool grow(size_t i) {
    ByteSet bytes = bytes_[i];
    bool ends = ends_[i];
    for (const Special& special : automaton_.specials(states_[i])) {
      bool passes = true;
      if (special.kind == EdgeKind::Call) {
        const uint32_t start = place_[automaton_.rule(special.data).start];
        bytes |= bytes_[start];
        passes = ends_[start];
      }
      if (!passes) continue;
      bytes |= bytes_[place_[special.to]];
      ends = ends || ends_[place_[special.to]];
    }
    const bool grew = bytes != bytes_[i] || ends != ends_[i];
    bytes_[i] = bytes;
    ends_[i] = ends;
    return grew;
  }

  const Automaton& automaton_;
  std::vector<uint32_t> place_;  // [states] in the lists below
  std::vector<uint32_t> states_;
  std::vector<ByteSet> bytes_;
  std::vector<bool> ends_;
};

uint8_t kinds_of(const ByteSet& bytes) {
  uint8_t kinds = 0;
  for (uint32_t b = 0; b < 256; ++b) {
    if (bytes[b]) kinds |= byte_kind(static_cast<uint8_t>(b));
  }
  return kinds;
}

}  // namespace

FollowBytes::FollowBytes(const Automaton& automaton)
    : after_rule_(automaton.num_rules()), after_action_(automaton.num_specials()) {
  Firsts firsts(automaton);
  bool done = firsts.grow();
  for (int round = 0; done; ++round) {
    bool grew = false;
    for (uint32_t s = 1; s < automaton.num_states(); ++s) {
      for (const Special& special : automaton.specials(s)) {
        if (special.kind != EdgeKind::Call) continue;
        ByteSet bytes = after_rule_[special.data].set | firsts.bytes(special.to);
        if (firsts.ends(special.to)) bytes |= after_rule_[automaton.rule_of(s)].set;
        grew = grew || bytes != after_rule_[special.data].set;
        after_rule_[special.data].set = bytes;
      }
    }
    if (!grew) break;
    done = round < kMaxRounds;
  }
  const ByteSet all = ByteSet().set();
  for (Bytes& bytes : after_rule_) {
    if (!done) bytes.set = all;
    bytes.kinds = kinds_of(bytes.set);
  }
  for (uint32_t s = 1; s < automaton.num_states(); ++s) {
    for (const Special& special : automaton.specials(s)) {
      if (special.kind == EdgeKind::Call) continue;
      Bytes& bytes = after_action_[automaton.index_of(special)];
      bytes.set = done ? firsts.bytes(special.to) : all;
      if (done && firsts.ends(special.to)) bytes.set |= after_rule_[automaton.rule_of(s)].set;
      bytes.kinds = kinds_of(bytes.set);
    }
  }
}

}  // namespace tenon::grammar
