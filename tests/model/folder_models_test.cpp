// Hugging Face folders against what transformers computed of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/embedder.h"
#include "model/model.h"
#include "model/open_model.h"
#include "quantize/quantize.h"
#include "tests/base/expect_error.h"
#include "tests/model/shared_folders.h"
#include "text/chat/chat.h"

namespace tenon::folders {
namespace {

using testing::HasSubstr;

struct FolderCase {
  const char* name;
  uint32_t context = 0;  ///< LongRoPE's table is chosen by it
};

void PrintTo(const FolderCase& one, std::ostream* out) { *out << one.name; }

constexpr FolderCase kDecoders[] = {
    {"llama3"},   {"llama_linear"}, {"llama_dup_head"}, {"mistral"},          {"mixtral"},
    {"qwen2"},    {"qwen3"},        {"qwen3_moe"},      {"gemma2"},           {"gemma3"},
    {"phi3", 64}, {"phi3_long"},    {"olmo2"},          {"gpt_oss"},          {"starcoder2"},
    {"smollm3"},  {"lfm2"},         {"mamba2"},         {"granitemoehybrid"}, {"gemma4"},
    {"qwen3_5"},  {"ministral3"},   {"deepseek_v3"},
};

class FolderModel : public testing::TestWithParam<FolderCase> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(path_)) GTEST_SKIP() << path_ << " is absent";
  }
  const std::string path_ = shared_folder(GetParam().name);
};

TEST_P(FolderModel, HasTheLogitsOfTransformers) {
  const double error = logits_error(path_, GetParam().context);
  RecordProperty("error", std::to_string(1e6 * error));
  EXPECT_LE(error, GetParam().name == std::string("qwen3_5") ? 1e-3 : 2e-4);
}

TEST_P(FolderModel, IsTheSameAsAFile) {
  const TempFolder temp;
  const std::string file = temp.path("model.gguf");
  const auto system = System::real();
  const auto opened = open_model(path_, {system, {}});
  write_quantized(system, *opened, file, {});
  const auto folder = Model::load(path_, exact_options(GetParam().context));
  const auto model = Model::load(file, exact_options(GetParam().context));
  EXPECT_EQ(model->chat_template(), folder->chat_template());
  for (const char* text :
       {"Once upon a time", " Gr\u00fc\u00dfe, 12345 \u4e2d\n\n\tx", "<|im_start|>user"}) {
    for (const bool special : {false, true}) {
      const EncodeOptions options{.add_special = special, .parse_special = special};
      EXPECT_EQ(model->tokenizer()->encode(text, options),
                folder->tokenizer()->encode(text, options));
    }
  }
  const std::vector<Token> prompt = read_json(path_ + "/expected.json").at("prompt_ids");
  Session from_file(Engine::create(model));
  Session from_folder(Engine::create(folder));
  const std::vector<float> got = evaluate_all(from_file, prompt);
  const std::vector<float> expected = evaluate_all(from_folder, prompt);
  const bool has_packed = std::ranges::any_of(
      opened->tensors(), [](const TensorInfo& tensor) { return is_memory_format(tensor.format); });
  if (has_packed) {
    ASSERT_EQ(got.size(), expected.size());
    const float largest = std::ranges::max(expected, {}, [](float x) { return std::fabs(x); });
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], expected[i], 2e-2 * std::fabs(largest)) << i;
    }
  } else {
    EXPECT_EQ(got, expected);
  }
}

TEST_P(FolderModel, RendersChatsAsTransformers) {
  const std::string expected_path = path_ + "/expected_chat.json";
  if (!std::filesystem::exists(expected_path)) GTEST_SKIP() << "no chat";
  ModelOptions model_options;
  model_options.vocabulary_only = true;
  const auto model = Model::load(path_, std::move(model_options));
  const nlohmann::json expected = read_json(expected_path);
  ChatOptions options;
  options.source = model->chat_template();
  options.source_name = "template";
  const Chat chat(std::move(options), model->tokenizer().get());
  const nlohmann::json conversation = {{"messages", expected.at("messages")}};
  const ChatPrompt prompt = chat.render(conversation.dump());
  std::string text;
  for (const TextPart& part : prompt.parts()) text += part.text;
  EXPECT_EQ(text, expected.at("rendered").get<std::string>());
  EXPECT_EQ(chat.encode(prompt), expected.at("ids").get<std::vector<Token>>());
}

TEST_P(FolderModel, EndsAnswersAtTheTokensOfAllFiles) {
  ModelOptions options;
  options.vocabulary_only = true;
  const auto model = Model::load(path_, std::move(options));
  for (const char* file : {"/config.json", "/generation_config.json"}) {
    if (!std::filesystem::exists(path_ + file)) continue;
    const nlohmann::json ends = read_json(path_ + file).value("eos_token_id", nlohmann::json());
    for (const nlohmann::json& end : ends.is_array() ? ends : nlohmann::json::array({ends})) {
      if (end.is_null()) continue;
      EXPECT_TRUE(model->tokenizer()->is_end(end.get<Token>())) << end;
    }
  }
}

TEST_P(FolderModel, HasTheTokensOfItsTokenizer) {
  ModelOptions options;
  options.vocabulary_only = true;
  const auto model = Model::load(path_, std::move(options));
  const Tokenizer& tokenizer = *model->tokenizer();
  for (const nlohmann::json& one : read_json(path_ + "/expected_tokens.json")) {
    const std::string text = one.at("text");
    EXPECT_EQ(tokenizer.encode(text, {.parse_special = true}),
              one.at("ids").get<std::vector<Token>>())
        << text;
    EXPECT_EQ(tokenizer.encode(text, {.add_special = true, .parse_special = true}),
              one.at("ids_with_special").get<std::vector<Token>>())
        << text;
  }
}

// transformers 5 drops both keys where a tokenizer.json is: its post-processor decides.
TEST(FolderTokenizer, KeysOfTokenizerConfigAddNoTokens) {
  if (!std::filesystem::exists(shared_folder("gemma3"))) GTEST_SKIP() << "no shared folders";
  const FolderCopy folder("gemma3");
  nlohmann::json config = read_json(folder.path() + "/tokenizer_config.json");
  std::vector<std::vector<Token>> tokens;
  for (const bool adds : {false, true}) {
    config["add_bos_token"] = config["add_eos_token"] = adds;
    folder.write("tokenizer_config.json", config.dump());
    ModelOptions options;
    options.vocabulary_only = true;
    const auto model = Model::load(folder.path(), std::move(options));
    tokens.push_back(model->tokenizer()->encode("Hello", {.add_special = true}));
  }
  EXPECT_EQ(tokens[0], tokens[1]);
  EXPECT_GE(tokens[0].size(), 2u) << "the post-processor adds one";
}

std::string folder_test_name(const testing::TestParamInfo<FolderCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Plain, FolderModel, testing::ValuesIn(kDecoders), folder_test_name);

constexpr FolderCase kQuantised[] = {
    {"llama3_gptq_actorder"}, {"qwen2_awq"},     {"qwen3_ct_int4"}, {"qwen3_mlx_mixed"},
    {"qwen3_moe_fp8"},        {"gpt_oss_mxfp4"}, {"llama_exl3"},    {"smollm3_bnb_nf4"},
};
INSTANTIATE_TEST_SUITE_P(Quantised, FolderModel, testing::ValuesIn(kQuantised), folder_test_name);

// ---- Encoders ------------------------------------------------------------------------------------

double largest_error(std::span<const float> got, std::span<const float> expected) {
  if (got.size() != expected.size()) return INFINITY;
  double error = 0;
  double largest = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    error = std::max(error, std::fabs(double(got[i]) - expected[i]));
    largest = std::max(largest, std::fabs(double(expected[i])));
  }
  return error / largest;
}

std::vector<float> rows_of(const std::string& path, const EmbedderOptions& options) {
  Embedder embedder(Model::load(path, exact_options()), options);
  EmbedderText text;
  text.tokens = read_json(path + "/expected.json").at("prompt_ids").get<std::vector<Token>>();
  embedder.check(text, 0);
  std::vector<float> rows(embedder.num_rows(text) * embedder.info().dimensions);
  embedder.embed(std::span(&text, 1), rows.data(), UINT64_MAX);
  return rows;
}

class FolderEncoder : public testing::TestWithParam<const char*> {};

TEST_P(FolderEncoder, HasTheRowsOfTransformers) {
  const std::string path = shared_folder(GetParam());
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
  const auto expected = [&](const char* file, const char* tensor) {
    return read_expected(path + file, tensor).values;
  };
  EXPECT_LE(largest_error(rows_of(path, {.pooling = Pooling::None, .normalize = false}),
                          expected("/expected_logits.st", "hidden")),
            2e-4);
  EXPECT_LE(largest_error(rows_of(path, {.pooling = Pooling::Mean}),
                          expected("/expected_pooled.st", "mean_normalized")),
            2e-4);
  EXPECT_LE(largest_error(rows_of(path, {.pooling = Pooling::First, .normalize = false}),
                          expected("/expected_pooled.st", "cls")),
            2e-4);
}

INSTANTIATE_TEST_SUITE_P(Encoders, FolderEncoder, testing::Values("bert", "modernbert"));

TEST(FolderEncoders, ScoreAsTransformers) {
  const std::string path = shared_folder("xlmr_reranker");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
  EXPECT_LE(largest_error(rows_of(path, {.pooling = Pooling::Rank}),
                          read_expected(path + "/expected_logits.st", "score").values),
            2e-4);
}

TEST(FolderEncoders, PoolAsTheirModulesSay) {
  const std::string path = shared_folder("bert");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
  EXPECT_EQ(Embedder(Model::load(path), {}).info().pooling, Pooling::Mean);
}

}  // namespace
}  // namespace tenon::folders
