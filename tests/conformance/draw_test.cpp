// Drawing on the device, and steps that name tokens unknown to the host. Only for devices that
// draw.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "backends/common/host_draw.h"
#include "program/operations.h"
#include "tests/base/expect_error.h"
#include "tests/conformance/program_runner.h"

namespace tenon::conformance {
namespace {

using testing::ElementsAre;

constexpr uint32_t kRows = 4;

/// The logits after a token are its row of a table.
class Draws : public testing::Test {
 protected:
  void SetUp() override {
    if ((target_info().flags & TENON_DEVICE_DRAWS) == 0) GTEST_SKIP() << "the device does not draw";
    ProgramBuilder b;
    const Slot out =
        op::gather_rows(b, op::embed(b, b.weight("table", Format::F32, kVocab, kVocab)));
    program_ = std::make_unique<Program>(std::move(b).finish(out, {kRows, kRows}));
    executable_ = std::make_unique<Executable>(make_device(target()), program_->view());
    table_ = random_values("logits", kVocab * kVocab);
  }

  std::span<float> logits_of(int32_t token) {
    return std::span(table_).subspan(static_cast<size_t>(token) * kVocab, kVocab);
  }
  void load() {
    executable_->load_rows(0, 0, kVocab, std::as_bytes(std::span(table_)));
    executable_->seal();
  }

  /// Submits a step of these tokens.
  ///   logits  [tokens, kVocab], or null to keep them on the device
  uint64_t submit(std::vector<int32_t> tokens, uint64_t after = TENON_NO_TICKET,
                  float* logits = nullptr) {
    std::vector<int32_t> positions(tokens.size());
    std::vector<uint32_t> rows(tokens.size());
    std::iota(rows.begin(), rows.end(), 0u);
    tenon_step step{};
    step.struct_size = sizeof(step);
    step.num_tokens = step.num_outputs = static_cast<uint32_t>(tokens.size());
    step.sequence_size = sizeof(tenon_step_sequence);
    step.tokens = tokens.data();
    step.positions = positions.data();
    step.output_rows = rows.data();
    step.after = after;
    const tenon_binding binding{program_->view().logits, 0, logits};
    step.bindings = &binding;
    step.num_bindings = logits == nullptr ? 0 : 1;
    step.binding_size = sizeof(binding);
    return executable_->submit(step);
  }
  uint64_t run(std::vector<int32_t> tokens, uint64_t after = TENON_NO_TICKET) {
    const uint64_t ticket = submit(std::move(tokens), after);
    executable_->wait(ticket);
    return ticket;
  }
  tenon_drawn draw(uint64_t step, tenon_draw draw) {
    tenon_drawn drawn{};
    draw.drawn = &drawn;
    executable_->wait(executable_->draw(step, {&draw, 1}));
    return drawn;
  }
  static tenon_draw of_kind(uint32_t kind, uint32_t row = 0) {
    tenon_draw draw{};
    draw.kind = kind;
    draw.row = row;
    draw.temperature = 1;
    draw.top_p = 1;
    return draw;
  }
  static int32_t largest(std::span<const float> logits) {
    return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }

  std::unique_ptr<Program> program_;
  std::unique_ptr<Executable> executable_;
  std::vector<float> table_;
};

TEST_F(Draws, GreedyTakesTheLargestAndOfEqualOnesTheLowest) {
  logits_of(1)[66] = 50;
  logits_of(2)[65] = logits_of(2)[3] = 50;
  load();
  const uint64_t step = run({0, 1, 2});
  EXPECT_EQ(draw(step, of_kind(TENON_DRAW_GREEDY, 0)).token, largest(logits_of(0)));
  EXPECT_EQ(draw(step, of_kind(TENON_DRAW_GREEDY, 1)).token, 66);
  EXPECT_EQ(draw(step, of_kind(TENON_DRAW_GREEDY, 2)).token, 3);
}

TEST_F(Draws, TellTheProbabilityAmongWhatIsAllowed) {
  load();
  const uint64_t step = run({5});
  std::vector<uint64_t> allowed = {0b1010, 0b1};  // tokens 1, 3 and 64
  tenon_draw one = of_kind(TENON_DRAW_GREEDY);
  one.allowed = allowed.data();
  const tenon_draw_bias bias{3, 40};
  one.biases = &bias;
  one.num_biases = 1;
  const tenon_drawn drawn = draw(step, one);
  EXPECT_EQ(drawn.token, 3);
  const std::span<const float> row = logits_of(5);
  const double sum =
      std::exp(double{row[1]}) + std::exp(double{row[3]} + 40) + std::exp(double{row[64]});
  EXPECT_NEAR(drawn.log_sum_exp, std::log(sum), 1e-4);
  EXPECT_NEAR(drawn.logprob, row[3] + 40 - std::log(sum), 1e-4);
}

TEST_F(Draws, CutsLeaveTheLargest) {
  load();
  const uint64_t step = run({7});
  for (uint64_t seed = 0; seed < 20; ++seed) {
    tenon_draw one = of_kind(TENON_DRAW_DRAWN);
    one.seed = seed;
    one.top_k = 1;
    EXPECT_EQ(draw(run({7}), one).token, largest(logits_of(7)));
    one.top_k = 0;
    one.top_p = 0;
    EXPECT_EQ(draw(run({7}), one).token, largest(logits_of(7)));
    one.top_p = 1;
    one.min_p = 1;
    EXPECT_EQ(draw(run({7}), one).token, largest(logits_of(7)));
  }
  static_cast<void>(step);
}

TEST_F(Draws, FollowTheProbabilitiesAndAreReproducible) {
  std::span<float> row = logits_of(0);
  std::fill(row.begin(), row.end(), -50.0F);
  row[10] = std::log(0.6F);
  row[60] = std::log(0.4F);
  load();
  constexpr int kDraws = 2000;
  int count = 0;
  std::vector<int32_t> first;
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<int32_t> tokens;
    for (int i = 0; i < kDraws; ++i) {
      tenon_draw one = of_kind(TENON_DRAW_DRAWN);
      one.seed = 42;
      one.position = static_cast<uint64_t>(i);
      tokens.push_back(draw(run({0}), one).token);
      count += tokens.back() == 10 ? 1 : 0;
    }
    if (pass == 0) first = tokens;
    EXPECT_EQ(tokens, first);
  }
  // Bound of five standard deviations.
  EXPECT_NEAR(count / (2.0 * kDraws), 0.6, 5 * std::sqrt(0.24 / kDraws));
}

// Complete sampling chains against their definition in code. Random numbers at the border of two
// tokens may go to either; these seeds have none.
TEST_F(Draws, ChainsDrawWhatTheHostDraws) {
  load();
  backends::HostDraw host;
  const std::vector<uint64_t> allowed = {0x5F5F5F5F5F5F5F5F, 0b101};
  const tenon_draw_bias biases[] = {
      {3, 2.5F}, {64, -1}, {10, -std::numeric_limits<float>::infinity()}};
  for (uint64_t seed = 0; seed < 64; ++seed) {
    const auto token = static_cast<int32_t>(seed % kVocab);
    tenon_draw one = of_kind(TENON_DRAW_DRAWN);
    one.seed = seed;
    one.position = seed * seed;
    one.temperature = seed % 3 == 0 ? 1 : 0.3 + 0.1 * static_cast<double>(seed % 9);
    one.top_k = seed % 4 == 0 ? 0 : static_cast<uint32_t>(seed);
    one.top_p = seed % 5 == 0 ? 1 : 0.9;
    one.min_p = seed % 2 == 0 ? 0 : 0.05;
    if (seed % 7 < 4) one.allowed = allowed.data();
    if (seed % 6 < 3) {
      one.biases = biases;
      one.num_biases = 3;
    }
    tenon_drawn expected{};
    one.drawn = &expected;
    host.run(one, logits_of(token));
    const tenon_drawn drawn = draw(run({token}), one);
    EXPECT_EQ(drawn.token, expected.token) << "seed " << seed;
    EXPECT_NEAR(drawn.logprob, expected.logprob, 1e-5) << "seed " << seed;
    EXPECT_NEAR(drawn.log_sum_exp, expected.log_sum_exp, 1e-5) << "seed " << seed;
  }
}

TEST_F(Draws, OfEqualLogitsCutsKeepTheLowerTokens) {
  std::span<float> row = logits_of(0);
  std::fill(row.begin(), row.end(), 1.0F);
  load();
  backends::HostDraw host;
  for (uint64_t seed = 0; seed < 32; ++seed) {
    tenon_draw one = of_kind(TENON_DRAW_DRAWN);
    one.seed = seed;
    if (seed % 2 == 0) one.top_k = 5;
    if (seed % 2 != 0) one.top_p = 0.1;
    tenon_drawn expected{};
    one.drawn = &expected;
    host.run(one, row);
    EXPECT_EQ(draw(run({0}), one).token, expected.token) << "seed " << seed;
    EXPECT_LT(expected.token, seed % 2 == 0 ? 5 : 7);
  }
}

TEST_F(Draws, CandidatesComeInOrderAndTheRowAsItIs) {
  load();
  const uint64_t step = run({9});
  std::vector<int32_t> tokens(5);
  std::vector<float> logits(5);
  tenon_draw one = of_kind(TENON_DRAW_CANDIDATES);
  one.num_candidates = 5;
  one.candidates = tokens.data();
  one.logits = logits.data();
  EXPECT_EQ(draw(step, one).num_candidates, 5u);
  std::vector<int32_t> expected(kVocab);
  std::iota(expected.begin(), expected.end(), 0);
  const std::span<const float> row = logits_of(9);
  std::stable_sort(expected.begin(), expected.end(), [&](int32_t a, int32_t b) {
    return row[static_cast<size_t>(a)] > row[static_cast<size_t>(b)];
  });
  expected.resize(5);
  EXPECT_EQ(tokens, expected);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(logits[i], row[static_cast<size_t>(tokens[i])]);
  std::vector<float> whole(kVocab);
  tenon_draw all = of_kind(TENON_DRAW_ROW);
  all.logits = whole.data();
  draw(step, all);
  EXPECT_TRUE(std::equal(whole.begin(), whole.end(), row.begin()));
  const uint64_t few[2] = {0b110, 0};
  one.allowed = few;
  EXPECT_EQ(draw(step, one).num_candidates, 2u);
}

TEST_F(Draws, SayWhenThereIsNoToken) {
  logits_of(1)[5] = std::numeric_limits<float>::quiet_NaN();
  load();
  const uint64_t step = run({0, 1});
  const uint64_t none[2] = {0, 0};
  tenon_draw one = of_kind(TENON_DRAW_GREEDY);
  one.allowed = none;
  const tenon_drawn nothing = draw(step, one);
  EXPECT_EQ(nothing.flags, TENON_DRAWN_NONE_ALLOWED);
  EXPECT_EQ(nothing.token, -1);
  const tenon_drawn broken = draw(step, of_kind(TENON_DRAW_GREEDY, 1));
  EXPECT_EQ(broken.flags, TENON_DRAWN_NOT_FINITE);
  EXPECT_EQ(broken.token, -1);
  // A following step ends normally.
  run({-1, -2}, step);
}

TEST_F(Draws, AStepTakesTokensThatTheHostHasNotSeen) {
  load();
  // The oracle: each token from the logits after the one before.
  std::vector<int32_t> expected = {0};
  for (int i = 0; i < 20; ++i) expected.push_back(largest(logits_of(expected.back())));
  std::vector<int32_t> tokens = {0};
  const bool two = target_info().steps_under_way >= 2;
  std::vector<tenon_drawn> drawn(20);
  uint64_t last_step = submit({0, 1, 2});
  uint64_t last_draw = TENON_NO_TICKET;
  for (size_t i = 0; i < drawn.size(); ++i) {
    tenon_draw one = of_kind(TENON_DRAW_GREEDY, i == 0 ? 0 : 1);
    one.drawn = &drawn[i];
    last_draw = executable_->draw(last_step, {&one, 1});
    uint64_t next = TENON_NO_TICKET;
    // Moves the token to another row.
    const std::vector<int32_t> by_row = {5, i == 0 ? -1 : -2, 6};
    if (two) next = submit(by_row, last_step);
    executable_->wait(last_step);
    executable_->wait(last_draw);
    if (!two) next = submit(by_row, last_step);
    tokens.push_back(drawn[i].token);
    last_step = next;
  }
  executable_->wait(last_step);
  EXPECT_EQ(tokens, expected);
}

TEST_F(Draws, AndResultsOfAStepAreItsOwnWhileTheNextOneRuns) {
  if (target_info().steps_under_way < 2) GTEST_SKIP() << "one step is under way";
  load();
  const auto rows_of = [this](const std::vector<int32_t>& tokens) {
    std::vector<float> rows;
    for (const int32_t token : tokens) {
      const auto row = logits_of(token);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    return rows;
  };
  for (int32_t i = 0; i < 12; ++i) {
    const std::vector<int32_t> tokens = {i, 3 * i + 1, 60 - i};
    std::vector<float> first_logits(3 * kVocab);
    std::vector<float> second_logits(2 * kVocab);
    std::vector<float> row(kVocab);
    int32_t candidates[2] = {};
    float listed[2] = {};
    tenon_drawn drawn[3] = {};
    tenon_draw draws[] = {of_kind(TENON_DRAW_GREEDY, 1), of_kind(TENON_DRAW_ROW, 2),
                          of_kind(TENON_DRAW_CANDIDATES, 0)};
    draws[1].logits = row.data();
    draws[2].num_candidates = 2;
    draws[2].candidates = candidates;
    draws[2].logits = listed;
    for (size_t d = 0; d < 3; ++d) draws[d].drawn = &drawn[d];
    // Alternates between bound logits and logits on the device.
    float* const bound = i % 2 == 0 ? first_logits.data() : nullptr;
    const uint64_t first = submit(tokens, TENON_NO_TICKET, bound);
    const uint64_t of_first = executable_->draw(first, draws);
    const uint64_t second = submit({40, -2}, first, second_logits.data());
    executable_->wait(first);
    executable_->wait(of_first);
    if (bound != nullptr) {
      EXPECT_EQ(first_logits, rows_of(tokens));
    }
    EXPECT_EQ(drawn[0].token, largest(logits_of(tokens[1])));
    EXPECT_EQ(row, rows_of({tokens[2]}));
    EXPECT_EQ(candidates[0], largest(logits_of(tokens[0])));
    EXPECT_GT(listed[0], listed[1]);
    // Also draws from the step under way, before waiting for it.
    tenon_drawn next{};
    tenon_draw greedy = of_kind(TENON_DRAW_GREEDY, 1);
    greedy.drawn = &next;
    const uint64_t of_second = executable_->draw(second, {&greedy, 1});
    executable_->wait(second);
    executable_->wait(of_second);
    EXPECT_EQ(second_logits, rows_of({40, drawn[0].token}));
    EXPECT_EQ(next.token, largest(logits_of(drawn[0].token)));
  }
}

TEST_F(Draws, BrokenOnesAreRefusedWithASentence) {
  load();
  const uint64_t step = run({0, 1});
  const auto refused = [&](tenon_draw wrong) {
    expect_error(Code::Argument, testing::HasSubstr("draw"), [&] { draw(step, wrong); });
  };
  refused(of_kind(TENON_DRAW_GREEDY, 2));
  refused(of_kind(0));
  refused(of_kind(9));
  refused(of_kind(TENON_DRAW_ROW));
  refused(of_kind(TENON_DRAW_CANDIDATES));
  for (const double bad : {0.0, -1.0, std::nan("")}) {
    tenon_draw one = of_kind(TENON_DRAW_DRAWN);
    one.temperature = bad;
    refused(one);
  }
  for (const tenon_draw_bias bias : {tenon_draw_bias{67, 0}, {-1, 0}, {0, INFINITY}}) {
    tenon_draw one = of_kind(TENON_DRAW_GREEDY);
    one.biases = &bias;
    one.num_biases = 1;
    refused(one);
  }
  expect_error(Code::Argument, testing::_, [&] { run({0}, step + 100); });
}

TEST_F(Draws, AStepNamesOnlyWhatWasDrawn) {
  load();
  const uint64_t step = run({0, 1});
  draw(step, of_kind(TENON_DRAW_GREEDY, 1));
  expect_error(Code::Argument, testing::HasSubstr("row 0"), [&] { run({-1}, step); });
}

TEST_F(Draws, StepsUnderWayAreAsManyAsTheDeviceSays) {
  load();
  std::vector<uint64_t> tickets;
  for (uint32_t i = 0; i < target_info().steps_under_way; ++i) tickets.push_back(submit({0}));
  expect_error(Code::State, testing::_, [&] { submit({0}); });
  for (const uint64_t ticket : tickets) executable_->wait(ticket);
  run({0});
}

}  // namespace
}  // namespace tenon::conformance
