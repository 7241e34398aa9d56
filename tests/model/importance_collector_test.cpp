// Importance matrices of tiny models, beside sums over what the test computes by itself.
#include "model/importance_collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/base/expect_error.h"
#include "tests/engine/tiny_engine.h"
#include "text/tokenizer/tokenizer.h"

namespace tenon {
namespace {

using testing::HasSubstr;

ModelOptions for_statistics(const char* backend = "cpu", uint32_t context = 16) {
  ModelOptions options;
  options.backend = backend;
  options.product_inputs = true;
  options.context = context;
  return options;
}

TinyModel exact(uint32_t experts = 0) {
  TinyModel tiny;
  tiny.formats = {Format::F32};
  tiny.experts = experts;
  return tiny;
}

std::string some_text() {
  std::string text;
  for (int i = 0; i < 40; ++i) text += std::string(1, static_cast<char>('a' + i * 7 % 26)) + ' ';
  return text;
}

const WeightInputs& inputs_of(const ImportanceMatrix& matrix, const std::string& name) {
  const auto found = std::ranges::find(matrix.weights, name, &WeightInputs::weight);
  if (found == matrix.weights.end()) throw std::runtime_error("no importance of " + name);
  return *found;
}

/// Rows of a tensor in f32.
std::vector<float> values_of(const ModelFile& file, const std::string& name) {
  const TensorInfo& tensor = *file.find(name);
  std::vector<std::byte> bytes(tensor.bytes);
  file.read(tensor, 0, bytes);
  std::vector<float> values(tensor.num_values());
  find_format(tensor.format)->decode_row(bytes.data(), values.data(), values.size());
  return values;
}

/// Sums of squares of the first layer's input: normalised rows of the embedding.
std::vector<double> first_sums(const Model& model, const std::string& text, size_t count,
                               uint32_t chunk) {
  const auto embedding = values_of(model.file(), "token_embd.weight");
  const auto gain = values_of(model.file(), "blk.0.attn_norm.weight");
  const double epsilon =
      model.file().metadata().get<float>("llama.attention.layer_norm_rms_epsilon");
  std::vector<Token> tokens = model.tokenizer()->encode(text, {.add_special = true});
  std::vector<double> sums(gain.size());
  for (size_t i = 0; i < count; ++i) {
    const bool begins = i % chunk == 0 && model.tokenizer()->adds_bos();
    const Token token = begins ? *model.tokenizer()->bos() : tokens[i];
    const float* row = embedding.data() + static_cast<size_t>(token) * gain.size();
    double square = 0;
    for (size_t j = 0; j < gain.size(); ++j) square += double{row[j]} * row[j];
    const double scale = 1 / std::sqrt(square / static_cast<double>(gain.size()) + epsilon);
    for (size_t j = 0; j < gain.size(); ++j) sums[j] += std::pow(row[j] * scale * gain[j], 2);
  }
  return sums;
}

TEST(ImportanceCollector, SumsTheSquaresOfInputs) {
  for (const char* backend : {"cpu", "reference"}) {
    SCOPED_TRACE(backend);
    const auto model = load_tiny(exact(), for_statistics(backend));
    const ImportanceMatrix matrix =
        collect_importance(*model, some_text(), {.chunk_tokens = 16, .dataset = "letters"});
    ASSERT_GE(matrix.chunks, 2u);
    EXPECT_EQ(matrix.chunk_tokens, 16u);
    EXPECT_THAT(matrix.datasets, testing::ElementsAre("letters"));
    const size_t tokens = matrix.chunks * 16;
    const auto expected = first_sums(*model, some_text(), tokens, 16);
    for (const char* name : {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight"}) {
      const WeightInputs& inputs = inputs_of(matrix, name);
      ASSERT_EQ(inputs.sums.size(), expected.size());
      EXPECT_THAT(inputs.counts, testing::ElementsAre(static_cast<float>(tokens)));
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(inputs.sums[i], expected[i], 1e-4 * expected[i]) << name << " " << i;
      }
    }
    // Every matrix of both layers, and no other.
    EXPECT_EQ(matrix.weights.size(), 2 * 7u);
    for (const WeightInputs& each : matrix.weights) {
      EXPECT_TRUE(each.weight.starts_with("blk."));
      EXPECT_NE(model->file().find(each.weight), nullptr) << each.weight;
      EXPECT_NO_THROW((void)matrix.of(*model->file().find(each.weight)));
    }
  }
}

TEST(ImportanceCollector, SumsAreThoseOfThePartsOfTheText) {
  const auto model = load_tiny(exact(), for_statistics());
  const ImportanceOptions all{.chunk_tokens = 16};
  ImportanceOptions first{.chunk_tokens = 16, .max_chunks = 1};
  const ImportanceMatrix one = collect_importance(*model, some_text(), first);
  EXPECT_EQ(one.chunks, 1u);
  const ImportanceMatrix both = collect_importance(*model, some_text(), all);
  for (const WeightInputs& each : one.weights) {
    const WeightInputs& more = inputs_of(both, each.weight);
    for (size_t i = 0; i < each.sums.size(); ++i) EXPECT_LE(each.sums[i], more.sums[i]);
    EXPECT_LT(each.counts[0], more.counts[0]);
  }
}

TEST(ImportanceCollector, ExpertsHaveTheirOwnInputs) {
  TinyModel tiny = exact();
  tiny.architecture = "qwen3moe";
  const auto model = load_tiny(tiny, for_statistics());
  const ImportanceMatrix matrix = collect_importance(*model, some_text(), {.chunk_tokens = 16});
  const WeightInputs& router = inputs_of(matrix, "blk.0.ffn_gate_inp.weight");
  const auto experts = tiny.num_experts();
  for (const char* name :
       {"blk.0.ffn_gate_exps.weight", "blk.0.ffn_up_exps.weight", "blk.0.ffn_down_exps.weight"}) {
    const WeightInputs& inputs = inputs_of(matrix, name);
    ASSERT_EQ(inputs.counts.size(), experts) << name;
    double used = 0;
    for (const float count : inputs.counts) used += count;
    EXPECT_EQ(used, router.counts[0] * tiny.experts_used) << name;
    EXPECT_NO_THROW((void)matrix.of(*model->file().find(name)));
  }
  // Experts of a token share its input, which the router reads, too.
  const WeightInputs& up = inputs_of(matrix, "blk.0.ffn_up_exps.weight");
  for (size_t i = 0; i < router.sums.size(); ++i) {
    double sum = 0;
    for (size_t e = 0; e < experts; ++e) sum += up.sums[e * router.sums.size() + i];
    EXPECT_NEAR(sum, tiny.experts_used * router.sums[i], 1e-4 * sum) << i;
  }
}

TEST(ImportanceCollector, TheOutputMatrixIsWanted) {
  TinyModel tiny = exact();
  tiny.tied = false;
  const auto model = load_tiny(tiny, for_statistics());
  const auto has_output = [](const ImportanceMatrix& matrix) {
    return std::ranges::find(matrix.weights, "output.weight", &WeightInputs::weight) !=
           matrix.weights.end();
  };
  EXPECT_FALSE(has_output(collect_importance(*model, some_text(), {.chunk_tokens = 16})));
  EXPECT_TRUE(has_output(
      collect_importance(*model, some_text(), {.chunk_tokens = 16, .with_output = true})));
}

TEST(ImportanceCollector, RefusesWhatItCannotCompute) {
  const auto model = load_tiny(exact(), for_statistics());
  expect_error(Code::Argument, HasSubstr("give a longer text or shorter parts"),
               [&] { (void)collect_importance(*model, "a", {.chunk_tokens = 16}); });
  int steps = 0;
  expect_error(Code::Cancelled, HasSubstr("was cancelled"), [&] {
    (void)collect_importance(*model, some_text(),
                             {.chunk_tokens = 16, .progress = [&](double) { return ++steps < 2; }});
  });
  EXPECT_EQ(steps, 2);
  const auto plain = load_tiny(exact());
  expect_error(Code::State, HasSubstr("was not loaded for statistics"),
               [&] { (void)collect_importance(*plain, some_text(), {.chunk_tokens = 16}); });
  TinyModel damaged = exact();
  damaged.edit = [](const std::string& name, std::span<float> values) {
    if (name == "blk.0.attn_norm.weight") values[3] = std::numeric_limits<float>::infinity();
  };
  const auto infinite = load_tiny(damaged, for_statistics());
  expect_error(Code::Format, HasSubstr("importance of \"blk.0.attn_"),
               [&] { (void)collect_importance(*infinite, some_text(), {.chunk_tokens = 16}); });
}

TEST(ImportanceCollector, AnswersStayTheSame) {
  const auto plain = load_tiny();
  const auto watched = load_tiny({}, for_statistics("cpu", 0));
  const auto logits = [](const std::shared_ptr<const Model>& model) {
    Session session(Engine::create(model));
    session.append(make_tokens(9));
    return std::vector<float>(session.logits().begin(), session.logits().end());
  };
  EXPECT_EQ(logits(plain), logits(watched));
}

}  // namespace
}  // namespace tenon
