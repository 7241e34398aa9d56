// Prediction blocks of a loaded model (engine/prediction_block.h) against the float64 values of
// arch/prediction_test.cpp: in one step, in slices, after truncation, and beside an engine.
#include "engine/prediction_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "plan/planner.h"
#include "tests/base/expect_error.h"
#include "tests/engine/tiny_engine.h"
#include "tests/golden/golden_model.h"

namespace tenon {
namespace {

using golden::GoldenModel;
using golden::kMaxCpuError;
using golden::kMaxReferenceError;
using golden::largest_relative_error;
using testing::HasSubstr;

/// Logits and hidden states of a text.
struct Rows {
  std::vector<float> logits;
  std::vector<float> hidden;
  bool operator==(const Rows&) const = default;
};

class PredictionBlocks : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] std::shared_ptr<const Model> load(const char* backend, uint32_t slice,
                                                  bool predictions = true) const {
    ModelOptions options;
    options.backend = backend;
    options.cache_type = CacheType::F32;
    options.slice = slice;
    options.threads = 2;
    options.predictions = predictions;
    const std::shared_ptr<const ByteSource> source = golden_.source();
    return Model::load(std::span(&source, 1), std::move(options));
  }
  /// Rows of the trunk, in steps of `slice`.
  [[nodiscard]] Rows trunk_rows(const Model& model, uint32_t slice) const {
    const ModelProgram& trunk = model.trunk();
    const uint32_t logits = trunk.program.view().logits;
    const std::span<const uint32_t> results = trunk.program.results();
    const uint32_t hidden = results[results[0] == logits ? 1 : 0];
    const std::scoped_lock turn(model.turn());
    ProgramRunner runner(trunk, {}, model.options().system);
    Rows rows;
    for (uint32_t past = 0; past < tokens_.size();) {
      const uint32_t count = std::min(slice, static_cast<uint32_t>(tokens_.size()) - past);
      runner.clear();
      runner.add({.text = tokens_, .past = past, .num_tokens = count, .num_outputs = count});
      const std::span<const float> of_logits = runner.bind_own(logits, "logits");
      const std::span<const float> of_hidden = runner.bind_own(hidden, "hidden states");
      runner.run(nullptr);
      rows.logits.insert(rows.logits.end(), of_logits.begin(), of_logits.end());
      rows.hidden.insert(rows.hidden.end(), of_hidden.begin(), of_hidden.end());
      past += count;
    }
    return rows;
  }
  /// Runs all pending tokens.
  static Rows run_all(const Model& model, PredictionBlock& block) {
    const std::scoped_lock turn(model.turn());
    Rows rows;
    while (block.run(nullptr) > 0) {
      rows.logits.insert(rows.logits.end(), block.logits().begin(), block.logits().end());
      rows.hidden.insert(rows.hidden.end(), block.hidden().begin(), block.hidden().end());
    }
    return rows;
  }
  /// Rows of the trunk, then of each block.
  [[nodiscard]] std::vector<Rows> values(const std::shared_ptr<const Model>& model,
                                         uint32_t slice) const {
    std::vector<Rows> all = {trunk_rows(*model, slice)};
    for (uint32_t index = 0; model->find(ProgramRole::Prediction, index) != nullptr; ++index) {
      PredictionBlock block(model, index, context());
      block.add(text(index), hidden_before(all.back(), index, block.width()));
      all.push_back(run_all(*model, block));
    }
    return all;
  }
  [[nodiscard]] uint32_t context() const { return static_cast<uint32_t>(tokens_.size()); }
  /// Tokens that block `index` reads.
  [[nodiscard]] std::span<const Token> text(uint32_t index) const {
    return std::span(tokens_).subspan(index + 1);
  }
  [[nodiscard]] std::span<const float> hidden_before(const Rows& before, uint32_t index,
                                                     uint32_t width) const {
    return std::span(before.hidden).first(text(index).size() * width);
  }
  [[nodiscard]] double error_of(const char* backend) const {
    double worst = 0;
    std::span<const float> expected = golden_.logits();
    for (const Rows& rows : values(load(backend, 64), 64)) {
      for (const std::vector<float>* part : {&rows.logits, &rows.hidden}) {
        if (part->size() > expected.size()) return INFINITY;
        worst = std::max(worst, largest_relative_error(*part, expected.first(part->size())));
        expected = expected.subspan(part->size());
      }
    }
    return expected.empty() ? worst : INFINITY;
  }

  const GoldenModel golden_{GetParam(), "prediction"};
  const std::vector<Token> tokens_ = golden_.tokens();
};

TEST_P(PredictionBlocks, GiveLogitsAndHiddenStates) {
  EXPECT_LE(error_of("reference"), kMaxReferenceError);
  EXPECT_LE(error_of("cpu"), kMaxCpuError);
}

TEST_P(PredictionBlocks, HaveTheSameBitsInSlices) {
  EXPECT_EQ(values(load("cpu", 64), 64), values(load("cpu", 5), 5));
}

/// A text of several cache blocks keeps its cache as it grows.
TEST_P(PredictionBlocks, HaveTheSameBitsTokenByToken) {
  constexpr uint32_t kTokens = 80;
  const auto model = load("cpu", 64);
  const Rows trunk = trunk_rows(*model, 64);
  const auto rows_in = [&](uint32_t slice) {
    PredictionBlock block(model, 0, kTokens);
    Rows rows;
    for (uint32_t i = 0; i < kTokens; ++i) {
      const size_t at = i % tokens_.size();
      block.add(std::span(tokens_).subspan(at, 1),
                std::span(trunk.hidden).subspan(at * block.width(), block.width()));
      if ((i + 1) % slice != 0) continue;
      const Rows more = run_all(*model, block);
      rows.logits.insert(rows.logits.end(), more.logits.begin(), more.logits.end());
      rows.hidden.insert(rows.hidden.end(), more.hidden.begin(), more.hidden.end());
    }
    return rows;
  };
  EXPECT_EQ(rows_in(1), rows_in(kTokens));
}

TEST_P(PredictionBlocks, GoBackToAnyToken) {
  const auto model = load("cpu", 64);
  const Rows trunk = trunk_rows(*model, 64);
  PredictionBlock block(model, 0, context());
  const uint32_t width = block.width();
  const std::span<const Token> tokens = text(0);
  const std::span<const float> hidden = hidden_before(trunk, 0, width);
  block.add(tokens, hidden);
  const Rows expected = run_all(*model, block);
  const size_t vocab = expected.logits.size() / tokens.size();
  const auto count = static_cast<uint32_t>(tokens.size());
  for (const uint32_t kept : {count - 1, count / 2, 1u, 0u}) {
    // Other tokens are guessed first, computed and pending.
    block.truncate(kept);
    const std::vector<Token> guesses(count - kept, tokens[0]);
    block.add(guesses, std::span(hidden).first(guesses.size() * width));
    EXPECT_FALSE(run_all(*model, block).logits.empty());
    block.truncate(kept);
    block.add(tokens.subspan(kept, 1), hidden.subspan(0, width));
    block.truncate(kept);
    EXPECT_EQ(block.num_computed(), kept);
    block.add(tokens.subspan(kept), hidden.subspan(size_t{kept} * width));
    const Rows again = run_all(*model, block);
    EXPECT_EQ(block.num_computed(), count);
    EXPECT_TRUE(same_bits(again.logits, std::span(expected.logits).subspan(kept * vocab))) << kept;
    EXPECT_TRUE(same_bits(again.hidden, std::span(expected.hidden).subspan(kept * width))) << kept;
  }
}

TEST_P(PredictionBlocks, StayPendingWhereTheStepIsCancelled) {
  const auto model = load("cpu", 64);
  const Rows trunk = trunk_rows(*model, 64);
  PredictionBlock block(model, 0, context());
  block.add(text(0), hidden_before(trunk, 0, block.width()));
  const uint32_t stop = 1;
  expect_error(Code::Cancelled, HasSubstr(""), [&] {
    const std::scoped_lock turn(model->turn());
    (void)block.run(&stop);
  });
  EXPECT_EQ(block.num_computed(), 0u);
  EXPECT_TRUE(block.logits().empty());
  PredictionBlock other(model, 0, context());
  other.add(text(0), hidden_before(trunk, 0, block.width()));
  EXPECT_EQ(run_all(*model, block), run_all(*model, other));
}

TEST_P(PredictionBlocks, LeaveTheBitsOfAnEngine) {
  const auto logits = [&](bool predictions) {
    Session session(Engine::create(load("cpu", 16, predictions)));
    return evaluate_all(session, tokens_);
  };
  EXPECT_TRUE(same_bits(logits(true), logits(false)));
}

TEST_P(PredictionBlocks, AreCountedInPlans) {
  const auto model = load("cpu", 16);
  const MemoryNeeds needs = model->memory(40);
  Hardware hardware;
  hardware.threads = 2;
  hardware.memory_bytes = uint64_t{1} << 40;
  const Plan plan = make_plan(*model, {40, 1}, hardware);
  EXPECT_EQ(plan.weights_bytes, needs.weights_bytes);
  EXPECT_EQ(plan.scratch_bytes, needs.scratch_bytes + golden_.vocab() * sizeof(float));
  EXPECT_EQ(plan.kv_bytes, needs.kv_bytes);
  const MemoryNeeds without = load("cpu", 16, false)->memory(40);
  EXPECT_GT(needs.weights_bytes, without.weights_bytes);
  EXPECT_GT(needs.scratch_bytes, without.scratch_bytes);
  EXPECT_EQ(needs.kv_bytes, without.kv_bytes);
}

TEST_P(PredictionBlocks, RefuseWhatTheyCannotTake) {
  const auto model = load("cpu", 16);
  expect_error(Code::State, HasSubstr("prediction block 9 is not loaded"),
               [&] { PredictionBlock(model, 9, 4); });
  expect_error(Code::State, HasSubstr("prediction block 0 is not loaded"),
               [&] { PredictionBlock(load("cpu", 16, false), 0, 4); });
  PredictionBlock block(model, 0, 2);
  const std::vector<float> hidden(size_t{3} * block.width());
  const std::vector<Token> tokens(3, 1);
  expect_error(Code::Limit, HasSubstr("tokens 3 > context 2"), [&] { block.add(tokens, hidden); });
  expect_error(Code::Argument, HasSubstr("values of hidden states"),
               [&] { block.add(std::span(tokens).first(1), hidden); });
  const std::vector<Token> unknown = {static_cast<Token>(golden_.vocab())};
  expect_error(Code::Argument, HasSubstr("is outside 0.."),
               [&] { block.add(unknown, std::span(hidden).first(block.width())); });
  EXPECT_EQ(block.size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Of, PredictionBlocks,
                         testing::Values("glm4moe_prediction", "deepseek2_prediction",
                                         "qwen35_prediction", "bailingmoe3_prediction",
                                         "deepseek32_prediction", "glm-dsa_prediction",
                                         "hy_v3_prediction", "mimo2_prediction",
                                         "nemotron_h_moe_prediction", "qwen3next_prediction",
                                         "step35_prediction"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(PredictionBlocksOf, AModelWithoutThemAreAnError) {
  const GoldenModel golden("llama");
  const std::shared_ptr<const ByteSource> source = golden.source();
  ModelOptions options;
  options.predictions = true;
  expect_error(Code::State, HasSubstr("has 0 prediction blocks"),
               [&] { (void)Model::load(std::span(&source, 1), std::move(options)); });
}

}  // namespace
}  // namespace tenon
