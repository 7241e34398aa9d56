#include "text/grammar/follow.h"

#include <gtest/gtest.h>

#include "text/grammar/grammar.h"

namespace tenon::grammar {
namespace {

TEST(FollowBytes, AreThoseAfterARuleAnywhere) {
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
