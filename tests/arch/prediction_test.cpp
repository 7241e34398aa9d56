// Blocks that predict further tokens, against float64 values computed without the engine
// (tests/golden/make/predictions.py and transformers_predictions.py). Each block continues from the
// hidden states before it.
#include "arch/prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "file/open.h"
#include "tests/base/expect_error.h"
#include "tests/golden/golden_model.h"
#include "tests/golden/program_run.h"

namespace tenon {
namespace {

using golden::GoldenModel;
using golden::largest_relative_error;
using golden::ProgramRun;
using testing::AllOf;
using testing::HasSubstr;

// Limits of golden_test.cpp.
constexpr double kMaxReferenceError = 3e-5;
constexpr double kMaxCpuError = 2e-4;

ProgramOptions options_for(uint32_t slice) {
  ProgramOptions options;
  options.cache_type = TENON_TYPE_F32;
  options.limits = {slice, slice};
  options.hidden_result = true;
  return options;
}

/// Concatenated results of a program over a text in slices.
std::vector<std::vector<float>> in_slices(ProgramRun& run, std::span<const int32_t> tokens,
                                          std::span<const float> hidden, size_t slice) {
  std::vector<std::vector<float>> all(2);
  const size_t width = hidden.size() / tokens.size();
  while (!tokens.empty()) {
    const size_t count = std::min(slice, tokens.size());
    const auto values = run.run_all(tokens.first(count), hidden.first(count * width));
    for (size_t i = 0; i < 2; ++i) all[i].insert(all[i].end(), values[i].begin(), values[i].end());
    tokens = tokens.subspan(count);
    hidden = hidden.subspan(count * width);
  }
  return all;
}

class Prediction : public testing::TestWithParam<const char*> {
 protected:
  /// Logits and hidden states of the trunk, then of each block, like the golden.
  [[nodiscard]] std::vector<std::vector<float>> values(const char* backend, uint32_t slice) const {
    const ModelSpec model = read_model_spec(*file_);
    const auto device = golden::device_of(backend);
    const std::vector<int32_t> tokens = golden_.tokens();
    const auto positions = static_cast<uint32_t>(tokens.size());
    const BuiltProgram built = build_program(*file_, model, options_for(slice));
    ProgramRun trunk(device, *file_, built, positions);
    std::vector<std::vector<float>> last = in_slices(trunk, tokens, {}, slice);
    std::vector<std::vector<float>> all = {last[1], last[0]};
    for (uint32_t block = 0; block < model.unused_blocks; ++block) {
      const BuiltProgram next = build_prediction_program(*file_, model, block, options_for(slice));
      ProgramRun run(device, *file_, next, positions);
      last = in_slices(run, std::span(tokens).subspan(block + 1),
                       std::span(last[0]).first((positions - 1 - block) * model.width), slice);
      all.insert(all.end(), {last[1], last[0]});
    }
    return all;
  }
  [[nodiscard]] double error_of(const char* backend) const {
    double worst = 0;
    std::span<const float> expected = golden_.logits();
    for (const std::vector<float>& part : values(backend, 64)) {
      if (part.size() > expected.size()) return INFINITY;
      worst = std::max(worst, largest_relative_error(part, expected.first(part.size())));
      expected = expected.subspan(part.size());
    }
    return expected.empty() ? worst : INFINITY;
  }
  const GoldenModel golden_{GetParam(), "prediction"};
  const std::shared_ptr<const ModelFile> file_ = open_model_file(golden_.source());
};

TEST_P(Prediction, GivesLogitsAndHiddenStates) {
  EXPECT_LE(error_of("reference"), kMaxReferenceError);
  EXPECT_LE(error_of("cpu"), kMaxCpuError);
}

TEST_P(Prediction, HasTheSameBitsInSlices) { EXPECT_EQ(values("cpu", 64), values("cpu", 5)); }

TEST_P(Prediction, HasACacheOfItsOwnLayerAlone) {
  const ModelSpec model = read_model_spec(*file_);
  const BuiltProgram built = build_prediction_program(*file_, model, 0, options_for(8));
  // An index has a group of its own.
  const bool indexed = file_->find("blk.2.indexer.proj.weight") != nullptr;
  ASSERT_EQ(built.program.groups().size(), indexed ? 2u : 1u);
  for (const tenon_cache_group& group : built.program.groups()) EXPECT_EQ(group.layers, 1u);
  expect_error(Code::State, HasSubstr("prediction blocks, none of number 9"),
               [&] { (void)prediction_of(*file_, model, 9); });
}

TEST_P(Prediction, FilesOfATrunkOrAHeadAloneSaySo) {
  const size_t layers = read_model_spec(*file_).layers.size();
  const auto is_of_layer = [layers](std::string_view name) {
    return name.starts_with("blk.") && name[4] - '0' < static_cast<int>(layers);
  };
  const auto trunk = open_model_file(golden_.source(
      [&](std::string_view name) { return name.starts_with("blk.") && !is_of_layer(name); }));
  const ModelSpec model = read_model_spec(*trunk);
  EXPECT_NO_THROW((void)build_program(*trunk, model, options_for(8)));
  expect_error(Code::Unsupported, AllOf(HasSubstr("nextn.eh_proj"), HasSubstr("the trunk only")),
               [&] { (void)build_prediction_program(*trunk, model, 0, options_for(8)); });
  const auto head = open_model_file(golden_.source(is_of_layer));
  expect_error(Code::Unsupported, HasSubstr("a prediction head only"),
               [&] { (void)build_program(*head, options_for(8)); });
  EXPECT_NO_THROW((void)build_prediction_program(*head, read_model_spec(*head), 0, options_for(8)));
}

TEST_P(Prediction, ABlockIsAWholeLayer) {
  ModelSpec model = read_model_spec(*file_);
  model.prediction.layers.assign(model.unused_blocks, model.layers.front());
  model.prediction.layers.front().feed_forward = {};
  expect_error(Code::Unsupported, HasSubstr("but is not a whole layer"),
               [&] { (void)prediction_of(*file_, model, 0); });
}

INSTANTIATE_TEST_SUITE_P(Of, Prediction,
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

}  // namespace
}  // namespace tenon
