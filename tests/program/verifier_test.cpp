// The verifier refuses every kind of broken program before a backend sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "base/error.h"
#include "program/operations.h"

namespace tenon {
namespace {

/// A program whose arrays a test may damage.
struct Editable {
  explicit Editable(const Program& program)
      : slots(program.slots().begin(), program.slots().end()),
        ops(program.ops().begin(), program.ops().end()),
        groups(program.groups().begin(), program.groups().end()),
        results(program.results().begin(), program.results().end()),
        view(program.view()) {
    view.slots = slots.data();
    view.ops = ops.data();
    view.groups = groups.data();
    view.results = results.data();
  }
  std::vector<tenon_slot> slots;
  std::vector<tenon_op> ops;
  std::vector<tenon_cache_group> groups;
  std::vector<uint32_t> results;
  tenon_program view;
};

// Slots: 0 table, 1 embed, 2 add, 3 kv weight, 4 kv, 5 attention, 6 gathered.
// Operations: 0 embed, 1 add, 2 linear, 3 kv_write, 4 attention, 5 gather_rows.
Program sample() {
  ProgramBuilder b;
  const uint32_t group = b.cache_group({1, 2, 4, 4, TENON_TYPE_F32, 16});
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 8));
  const Slot y = op::add(b, x, x);
  const Slot kv = op::linear(b, y, b.weight("kv", Format::F32, 8, 8));
  op::kv_write(b, kv, kv, group, 0);
  AttentionOptions options;
  options.heads = 2;
  const Slot out = op::attention(b, y, options);
  return std::move(b).finish(op::gather_rows(b, out), {});
}

struct Damage {
  const char* name;
  const char* text;
  std::function<void(Editable&)> apply;
};

/// Shows the name in test reports.
void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.name; }

class VerifierDamage : public testing::TestWithParam<Damage> {};

TEST_P(VerifierDamage, IsRefused) {
  const Program program = sample();
  Editable edit(program);
  ASSERT_NO_THROW(verify_program(edit.view));
  GetParam().apply(edit);
  try {
    verify_program(edit.view);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::Internal);
    EXPECT_THAT(error.what(), testing::HasSubstr(GetParam().text));
  }
}

const Damage kDamages[] = {
    {"SmallStruct", "smaller than", [](Editable& e) { e.view.struct_size = 8; }},
    {"SmallSlots", "smaller than", [](Editable& e) { e.view.slot_size = 8; }},
    {"UnalignedOps", "not aligned", [](Editable& e) { e.view.op_size += 1; }},
    {"ManyOps", "at most", [](Editable& e) { e.view.num_ops = UINT32_MAX; }},
    {"Empty", "empty", [](Editable& e) { e.view.num_ops = 0; }},
    {"NoSlots", "missing", [](Editable& e) { e.view.slots = nullptr; }},
    {"NoTokens", "max_tokens 0", [](Editable& e) { e.view.max_tokens = 0; }},
    {"PositionParts", "positions of 0 parts", [](Editable& e) { e.view.position_parts = 0; }},
    {"EmbedSource", "unknown source", [](Editable& e) { e.ops[0].params.embed.source = 2; }},
    {"AddsARowOfATable", "has 4 rows", [](Editable& e) { e.ops[1].inputs[1] = 0; }},
    {"GroupWithoutHeads", "cache group 0", [](Editable& e) { e.groups[0].kv_heads = 0; }},
    {"GroupType", "none of f16, f32", [](Editable& e) { e.groups[0].type = 8; }},
    {"SlotKind", "unknown kind 9", [](Editable& e) { e.slots[0].kind = 9; }},
    {"WeightType", "no weight format", [](Editable& e) { e.slots[0].type = 4; }},
    {"WeightBlocks", "whole blocks", [](Editable& e) { e.slots[0].type = 12; }},
    {"ZeroColumns", "outside 1", [](Editable& e) { e.slots[0].columns = 0; }},
    {"NoName", "no name", [](Editable& e) { e.slots[0].name = nullptr; }},
    {"ActivationType", "[T, R or S, columns]", [](Editable& e) { e.slots[1].type = 1; }},
    {"ActivationRows", "[T, R or S, columns]", [](Editable& e) { e.slots[1].row_class = 4; }},
    {"OpKind", "operation 1: unknown kind 77", [](Editable& e) { e.ops[1].kind = 77; }},
    {"InputNumber", "operation 1 (add): there is no slot 50",
     [](Editable& e) { e.ops[1].inputs[0] = 50; }},
    {"InputMissing", "input 1 is missing", [](Editable& e) { e.ops[1].inputs[1] = TENON_NO_SLOT; }},
    {"InputUncounted", "inputs", [](Editable& e) { e.ops[1].num_inputs = 1; }},
    {"InputTooMany", "at most", [](Editable& e) { e.ops[1].num_inputs = 9; }},
    {"OutputsUncounted", "0 outputs, it has 1", [](Editable& e) { e.ops[1].num_outputs = 0; }},
    {"WindowOfFull", "does not fit its kind", [](Editable& e) { e.groups[0].window = 3; }},
    {"WindowOfNone", "does not fit its kind", [](Editable& e) { e.groups[0].kind = 1; }},
    {"WindowOfPools", "does not fit its kind",
     [](Editable& e) {
       e.groups[0].kind = TENON_CACHE_LATENT;
       e.groups[0].kv_heads = 1;
       e.groups[0].window = 3;
       e.groups[0].stride = 2;
     }},
    {"LooksBehindItsWindow", "looks back 0 positions, its cache group keeps 4",
     [](Editable& e) {
       e.groups[0].kind = TENON_CACHE_WINDOW;
       e.groups[0].window = 4;
     }},
    {"StateOfPositions", "a state of 3 values does not fit",
     [](Editable& e) { e.groups[0].state_values = 3; }},
    {"GroupKind", "unknown kind 7", [](Editable& e) { e.groups[0].kind = 7; }},
    {"ReadBeforeWritten", "before it is written",
     [](Editable& e) { e.ops[1].inputs[0] = e.ops[4].outputs[0]; }},
    {"InputAfterTheLast", "there is no slot",
     [](Editable& e) { e.ops[1].inputs[0] = e.view.num_slots; }},
    {"OutputAfterTheLast", "there is no slot",
     [](Editable& e) { e.ops[1].outputs[0] = e.view.num_slots; }},
    {"OutputMissing", "there is no slot", [](Editable& e) { e.ops[1].outputs[0] = TENON_NO_SLOT; }},
    {"OutputTwice", "written twice",
     [](Editable& e) { e.ops[4].outputs[0] = e.ops[1].outputs[0]; }},
    {"OutputIsWeight", "no activation", [](Editable& e) { e.ops[1].outputs[0] = 0; }},
    {"OutputColumns", "has 9 columns",
     [](Editable& e) { e.slots[e.ops[4].outputs[0]].columns = 9; }},
    {"OutputOfWrite", "has no output", [](Editable& e) { e.ops[3].outputs[0] = 1; }},
    {"CacheUnwritten", "read before it is written",
     [](Editable& e) { std::swap(e.ops[3], e.ops[4]); }},
    {"CacheTwice", "written twice", [](Editable& e) { e.ops[5] = e.ops[3]; }},
    {"NotANumber", "scale is no number",
     [](Editable& e) { e.ops[4].params.attention.scale = NAN; }},
    {"NoResult", "no result", [](Editable& e) { e.view.num_results = 0; }},
    {"ResultIsWeight", "result 0 is no activation", [](Editable& e) { e.results[0] = 0; }},
    {"LogitsAreNoResult", "logits are no result", [](Editable& e) { e.view.logits = 1; }},
    {"LogitsOfTokens", "logits are no result",
     [](Editable& e) { e.view.logits = e.results[0] = 1; }},
};

INSTANTIATE_TEST_SUITE_P(Verifier, VerifierDamage, testing::ValuesIn(kDamages),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Verifier, RoutesComeFromAMoeRouteOfAsManyExperts) {
  enum class Weights { Own, Others };
  const auto verify = [](uint32_t experts, Weights weights) {
    ProgramBuilder b;
    const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 8));
    Route route = op::moe_route(b, x, {.used = 2});
    if (weights == Weights::Others) route.weights = op::moe_route(b, x, {.used = 2}).weights;
    const Slot y = op::moe_linear_sum(b, x, route, b.weight("w", Format::F32, 24, 8), experts);
    (void)std::move(b).finish(op::gather_rows(b, y), {});
  };
  EXPECT_NO_THROW(verify(8, Weights::Own));
  const auto refused = [&](uint32_t experts, Weights weights, const char* text) {
    EXPECT_THAT([&] { verify(experts, weights); },
                testing::Throws<Error>(testing::Property(&Error::what, testing::HasSubstr(text))));
  };
  refused(6, Weights::Own,
          "operation 2 (moe_linear): 6 experts, but \"moe_route#1\" is a route to 8");
  refused(8, Weights::Others, "are not the weights that belong to \"moe_route#1\"");
}

TEST(Verifier, ExpertsNeedNoWeights) {
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 8));
  const Route route = op::moe_route(b, x, {.used = 2});
  const Slot bias = b.weight("b", Format::F32, 8, 3);
  const Slot y = op::moe_linear(b, x, route, b.weight("w", Format::F32, 24, 8),
                                {.experts = 8, .sum = true, .bias = bias});
  EXPECT_NO_THROW((void)std::move(b).finish(op::gather_rows(b, y), {}));
}

// Two shifts of 8 values, adjacent in a state of 16.
Program recurrent() {
  ProgramBuilder b;
  const uint32_t group = b.state_group(2, 16);
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 8));
  const Slot y = op::token_shift(b, op::token_shift(b, x, {group, 0, 8}), {group, 0, 0});
  return std::move(b).finish(op::gather_rows(b, y), {});
}

TEST(Verifier, StatesHaveValuesAndNothingElse) {
  const auto refused = [](const char* text, const std::function<void(Editable&)>& damage) {
    const Program program = recurrent();
    Editable edit(program);
    ASSERT_NO_THROW(verify_program(edit.view));
    damage(edit);
    EXPECT_THAT([&] { verify_program(edit.view); },
                testing::Throws<Error>(testing::Property(&Error::what, testing::HasSubstr(text))));
  };
  refused("a size is zero", [](Editable& e) { e.groups[0].layers = 0; });
  refused("a size is zero", [](Editable& e) { e.groups[0].state_values = 0; });
  refused("no heads and no positions", [](Editable& e) { e.groups[0].block_tokens = 16; });
  refused("no heads and no positions", [](Editable& e) { e.groups[0].key_dim = 1; });
  refused("no heads and no positions", [](Editable& e) { e.groups[0].window = 1; });
  refused("no heads and no positions", [](Editable& e) { e.groups[0].type = TENON_TYPE_F16; });
  refused("of a state of 15", [](Editable& e) { e.groups[0].state_values = 15; });
  refused("overlap", [](Editable& e) { e.ops[1].params.state.offset = 7; });
  refused("overlap", [](Editable& e) { e.ops[1].params.state.offset = 0; });
  refused("overlap", [](Editable& e) { e.ops[2].params.state.offset = 1; });
  const Program program = recurrent();
  Editable edit(program);
  edit.ops[1].params.state = {0, 1, 3};  // in another layer
  EXPECT_NO_THROW(verify_program(edit.view));
}

TEST(Verifier, ResultsMayBeReadAndInputsAreThereFromTheStart) {
  ProgramBuilder b;
  const Slot x = b.input("hidden", TENON_ROWS_TOKENS, 8);
  const Slot y = op::linear(b, x, b.weight("w", Format::F32, 8, 8));
  b.result(y);
  const Program program = std::move(b).finish(op::gather_rows(b, op::add(b, x, y)), {});
  EXPECT_EQ(program.results().size(), 2u);
  for (const uint32_t result : program.results()) {
    EXPECT_EQ(program.slots()[result].plan_offset, TENON_NO_PLAN);
  }
}

TEST(Verifier, ReadsLargerStructures) {
  const Program program = sample();
  struct LargerOp {
    tenon_op op;
    uint64_t added;
  };
  std::vector<LargerOp> ops;
  for (const tenon_op& op : program.ops()) ops.push_back({op, 0xFFFFFFFFFFFFFFFFull});
  tenon_program view = program.view();
  view.ops = &ops[0].op;
  view.op_size = sizeof(LargerOp);
  EXPECT_NO_THROW(verify_program(view));
}

}  // namespace
}  // namespace tenon
