// Groups of states that no short text tells apart, and what is made of them.
#include "text/grammar/refine.h"

#include <gtest/gtest.h>

#include "text/grammar/equivalent_states.h"
#include "text/grammar/follow.h"
#include "text/grammar/grammar.h"

namespace tenon::grammar {
namespace {

/// A chain of `n` states, the last of which is in a group of its own.
struct Chain {
  explicit Chain(uint32_t n)
      : group(n, 0), before(n, [n](auto visit) {
          for (uint32_t s = 0; s + 1 < n; ++s) visit(s, s + 1);
        }) {
    group[n - 1] = 1;
  }
  bool run(size_t rounds, uint64_t* looks = nullptr) {
    const auto n = static_cast<uint32_t>(group.size());
    return refine(
        group, num_groups, before, rounds,
        [&](uint32_t s, std::vector<uint32_t>& row) {
          if (looks != nullptr) ++*looks;
          if (s + 1 < n) row.push_back(group[s + 1]);
        },
        [](size_t) { return true; });
  }
  std::vector<uint32_t> group;
  uint32_t num_groups = 2;
  Predecessors before;
};

TEST(Refine, TellsApartAfterAsManyRoundsAsSteps) {
  Chain chain(10);
  EXPECT_FALSE(chain.run(3));
  EXPECT_EQ(chain.num_groups, 5u);
  EXPECT_EQ(chain.group[0], chain.group[5]);
  EXPECT_NE(chain.group[5], chain.group[6]);
  EXPECT_NE(chain.group[6], chain.group[7]);
}

TEST(Refine, LooksAtEachStateOfAChainTwice) {
  Chain chain(5000);
  uint64_t looks = 0;
  EXPECT_TRUE(chain.run(kAllRounds, &looks));
  EXPECT_EQ(chain.num_groups, 5000u);
  EXPECT_LE(looks, 10'000u);
}

TEST(Refine, LeavesStatesWithoutAGroupAlone) {
  Chain chain(4);
  chain.group[0] = kNoGroup;
  EXPECT_TRUE(chain.run(kAllRounds));
  EXPECT_EQ(chain.group[0], kNoGroup);
  EXPECT_NE(chain.group[1], chain.group[2]);
}

TEST(EquivalentStates, AreThoseFarFromAnythingElse) {
  const auto grammar = Grammar::compile(GrammarKind::Regex, "a{100}");
  const Automaton& automaton = *grammar->automaton();
  const EquivalentStates alike(automaton, 32);
  uint32_t state = automaton.rule(0).start;
  std::vector<uint32_t> first;
  for (int i = 0; i <= 100; ++i) {
    first.push_back(alike.first[state]);
    state = automaton.next(state, automaton.class_of('a'));
  }
  EXPECT_FALSE(alike.exact);
  EXPECT_EQ(first[0], first[67]);
  EXPECT_NE(first[0], first[68]);
  EXPECT_NE(first[80], first[81]);
}

TEST(FollowBytes, AreThoseBehindARuleAnywhere) {
  const auto grammar = Grammar::compile(
      GrammarKind::Gbnf,
      "root ::= \"(\" word \")\" | word tail\nword ::= [a-z]+\ntail ::= \"!\"? \".\"");
  const Automaton& automaton = *grammar->automaton();
  const FollowBytes follow(automaton);
  bool found = false;
  for (uint32_t r = 1; r < automaton.num_rules(); ++r) {
    if (!follow.after_rule(r).set[')']) continue;
    found = true;
    EXPECT_EQ(follow.after_rule(r).set.count(), 3u);
    EXPECT_TRUE(follow.after_rule(r).set['!']);
    EXPECT_TRUE(follow.after_rule(r).set['.']);
  }
  EXPECT_TRUE(found);
  EXPECT_TRUE(follow.after_rule(0).set.none());
}

}  // namespace
}  // namespace tenon::grammar
