// verify_step refuses steps that would make a backend access memory out of bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "base/error.h"
#include "program/operations.h"

namespace tenon {
namespace {

Program sample_for_steps() {
  ProgramBuilder b;
  const uint32_t group = b.cache_group({1, 1, 4, 4, TENON_TYPE_F32, 2});
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 4));
  op::kv_write(b, x, x, group, 0);
  AttentionOptions options;
  options.heads = 1;
  return std::move(b).finish(op::gather_rows(b, op::attention(b, x, options)), {.max_tokens = 8});
}

/// Two sequences: three new tokens after one, and one new token after three.
struct Fixture {
  Fixture() {
    step.struct_size = sizeof(tenon_step);
    step.num_tokens = 4;
    step.num_outputs = 2;
    step.num_sequences = 2;
    step.sequence_size = sizeof(tenon_step_sequence);
    step.num_pools = 1;
    step.tokens = tokens;
    step.positions = positions;
    step.sequences = sequences;
    step.pools = &pool;
    step.output_rows = output_rows;
    step.bindings = &logits_binding;
    step.num_bindings = 1;
    step.binding_size = sizeof(tenon_binding);
  }
  int32_t tokens[4] = {0, 3, 1, 2};
  int32_t positions[4] = {1, 2, 3, 3};
  uint32_t table_a[2] = {0, 3};
  uint32_t table_b[2] = {1, 2};
  const uint32_t* tables_a[1] = {table_a};
  const uint32_t* tables_b[1] = {table_b};
  tenon_step_sequence sequences[2] = {{0, 3, 1, 0, tables_a}, {3, 1, 3, 0, tables_b}};
  tenon_buffer* slabs[2] = {nullptr, nullptr};
  tenon_cache_pool pool = {slabs, 2, 2};
  uint32_t output_rows[2] = {2, 3};
  float logits[8] = {};
  tenon_binding logits_binding = {0, 0, logits};
  tenon_binding twice[2] = {};
  tenon_step step{};
};

struct DamagedStep {
  const char* name;
  const char* text;
  std::function<void(Fixture&)> apply;
};

/// Shows the name in test reports.
void PrintTo(const DamagedStep& damage, std::ostream* out) { *out << damage.name; }

class StepDamage : public testing::TestWithParam<DamagedStep> {};

TEST_P(StepDamage, IsRefused) {
  const Program program = sample_for_steps();
  Fixture fixture;
  fixture.logits_binding.slot = program.view().logits;
  ASSERT_NO_THROW(verify_step(program.view(), fixture.step));
  GetParam().apply(fixture);
  try {
    verify_step(program.view(), fixture.step);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(GetParam().text));
  }
}

const DamagedStep kStepDamages[] = {
    {"TooManyTokens", "9 tokens, at most 8", [](Fixture& f) { f.step.num_tokens = 9; }},
    {"TooManyOutputs", "outputs, at most", [](Fixture& f) { f.step.num_outputs = 600; }},
    {"NoPools", "0 pools for 1", [](Fixture& f) { f.step.num_pools = 0; }},
    {"NoLogits", "no memory for", [](Fixture& f) { f.logits_binding.data = nullptr; }},
    {"NoBinding", "is not bound", [](Fixture& f) { f.step.num_bindings = 0; }},
    {"BoundTwice", "takes none, or has one",
     [](Fixture& f) {
       f.twice[0] = f.twice[1] = f.logits_binding;
       f.step.bindings = f.twice;
       f.step.num_bindings = 2;
     }},
    {"BindsAWeight", "takes none", [](Fixture& f) { f.logits_binding.slot = 0; }},
    {"SmallBindings", "too small", [](Fixture& f) { f.step.binding_size = 8; }},
    {"NoBlock", "block 0 of cache group 0 is missing",
     [](Fixture& f) { f.table_b[0] = TENON_NO_BLOCK; }},
    {"NegativeToken", "token -1 at 1", [](Fixture& f) { f.tokens[1] = -1; }},
    {"TokenPastVocabulary", "token 4 at 2", [](Fixture& f) { f.tokens[2] = 4; }},
    {"OutputRow", "output row 4", [](Fixture& f) { f.output_rows[0] = 4; }},
    {"SequencePastEnd", "ends at token 5", [](Fixture& f) { f.sequences[1].num_tokens = 2; }},
    {"Overlap", "two sequences", [](Fixture& f) { f.sequences[1].first_token = 2; }},
    {"Uncovered", "3 of 4", [](Fixture& f) { f.sequences[0].num_tokens = 2; }},
    {"BlockPastPool", "block 4 of a pool of 4", [](Fixture& f) { f.table_b[0] = 4; }},
    {"BlockShared", "written twice", [](Fixture& f) { f.table_b[1] = 3; }},
    {"NoTable", "no block table", [](Fixture& f) { f.tables_a[0] = nullptr; }},
};

INSTANTIATE_TEST_SUITE_P(StepVerifier, StepDamage, testing::ValuesIn(kStepDamages),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(StepVerifier, StepsBringTheTokensBeforeThem) {
  ProgramBuilder b;
  const Slot x = op::ngram_rows(b, b.weight("e", Format::F32, 4, 4),
                                {.multipliers = {3, 5}, .heads = {{2, 0, 4}}});
  const Program program = std::move(b).finish(op::gather_rows(b, x), {.max_tokens = 8});
  Fixture fixture;
  fixture.step.num_pools = 0;
  fixture.logits_binding.slot = program.view().logits;
  const auto refused = [&] {
    try {
      verify_step(program.view(), fixture.step);
      return false;
    } catch (const Error& error) {
      return std::string(error.what()).find("earlier") != std::string::npos;
    }
  };
  EXPECT_TRUE(refused());
  int32_t earlier[] = {TENON_BEFORE_TEXT, 3};
  fixture.step.earlier_tokens = earlier;
  EXPECT_NO_THROW(verify_step(program.view(), fixture.step));
  earlier[1] = -1;
  EXPECT_TRUE(refused());
}

TEST(StepVerifier, PositionsThatAreLookedUpAreRowsOfTheTable) {
  ProgramBuilder b;
  b.position_parts(3);
  const Slot x = op::embed(b, b.weight("p", Format::F32, 4, 4), TENON_EMBED_POSITIONS);
  const Program program = std::move(b).finish(op::gather_rows(b, x), {.max_tokens = 8});
  Fixture fixture;
  fixture.step.num_pools = 0;
  fixture.logits_binding.slot = program.view().logits;
  // Only the first of a position's three parts matters.
  int32_t positions[12] = {0, 9, 9, 3, -9, 9, 2, 9, 9, 1, 9, 9};
  fixture.step.positions = positions;
  EXPECT_NO_THROW(verify_step(program.view(), fixture.step));
  for (const int32_t outside : {4, -1}) {
    positions[6] = outside;
    EXPECT_THAT([&] { verify_step(program.view(), fixture.step); },
                testing::Throws<Error>(testing::Property(
                    &Error::what, testing::HasSubstr("at 2 is outside a table of 4"))));
  }
}

TEST(StepVerifier, StatesAreReadAndWrittenByOneSequence) {
  ProgramBuilder b;
  const uint32_t group = b.state_group(1, 4);
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 4));
  const Program program = std::move(b).finish(
      op::gather_rows(b, op::token_shift(b, x, {group, 0, 0})), {.max_tokens = 8});
  const auto verify = [&](std::array<uint32_t, 2> first, std::array<uint32_t, 2> second,
                          uint32_t past = 1) {
    Fixture fixture;
    fixture.logits_binding.slot = program.view().logits;
    fixture.sequences[0].past = past;
    fixture.tables_a[0] = first.data();
    fixture.tables_b[0] = second.data();
    verify_step(program.view(), fixture.step);
  };
  EXPECT_NO_THROW(verify({0, 0}, {1, 1}));
  EXPECT_NO_THROW(verify({0, 1}, {2, 3}));
  EXPECT_NO_THROW(verify({0, 1}, {0, 2}));  // both from one state
  EXPECT_NO_THROW(verify({TENON_NO_BLOCK, 0}, {1, 1}, 0));
  const auto refused = [&](std::array<uint32_t, 2> first, std::array<uint32_t, 2> second,
                           const char* text) {
    EXPECT_THAT([&] { verify(first, second); },
                testing::Throws<Error>(testing::Property(&Error::what, testing::HasSubstr(text))));
  };
  refused({TENON_NO_BLOCK, 0}, {1, 1}, "sequence 0: no state of cache group 0 after 1 tokens");
  refused({4, 0}, {1, 1}, "block 4 of a pool of 4");
  refused({0, TENON_NO_BLOCK}, {1, 1}, "of a pool of 4");
  refused({0, 2}, {1, 2}, "block 2 of cache group 0 is written twice");
  refused({0, 0}, {0, 1}, "sequence 1: another writes block 0");
  refused({0, 1}, {2, 0}, "sequence 0: another writes block 0");
}

TEST(StepVerifier, SharedFullBlocksAreAllowed) {
  const Program program = sample_for_steps();
  Fixture fixture;
  fixture.logits_binding.slot = program.view().logits;
  fixture.sequences[0].past = 2;
  fixture.table_b[0] = 0;
  uint32_t table_a[3] = {0, 3, 1};
  fixture.tables_a[0] = table_a;
  EXPECT_NO_THROW(verify_step(program.view(), fixture.step));
}

TEST(StepVerifier, AnEmptyStepIsAllowed) {
  const Program program = sample_for_steps();
  tenon_step step{};
  step.struct_size = sizeof(tenon_step);
  step.num_pools = 1;
  tenon_cache_pool pool{};
  step.pools = &pool;
  EXPECT_NO_THROW(verify_step(program.view(), step));
}

}  // namespace
}  // namespace tenon
