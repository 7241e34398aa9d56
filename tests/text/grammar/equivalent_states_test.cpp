#include "text/grammar/equivalent_states.h"

#include <gtest/gtest.h>

#include "text/grammar/grammar.h"

namespace tenon::grammar {
namespace {

TEST(EquivalentStates, AreThoseFarFromAnythingElse) {
  const auto grammar = Grammar::compile(GrammarKind::Regex, "a{100}");
  const Automaton& automaton = *grammar->automaton();
  const EquivalentStates equivalent(automaton, 32);
  uint32_t state = automaton.rule(0).start;
  std::vector<uint32_t> first;
  for (int i = 0; i <= 100; ++i) {
    first.push_back(equivalent.first[state]);
    state = automaton.next(state, automaton.class_of('a'));
  }
  EXPECT_FALSE(equivalent.exact);
  EXPECT_EQ(first[0], first[67]);
  EXPECT_NE(first[0], first[68]);
  EXPECT_NE(first[80], first[81]);
}

}  // namespace
}  // namespace tenon::grammar
