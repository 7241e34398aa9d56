// tenon_embedder_*, and the C++ functions over them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <string>
#include <tenon/tenon.hpp>
#include <thread>
#include <vector>

#include "base/temp_folder.h"
#include "handles.h"

namespace {

using namespace tenon_test;

/// Random model of an architecture, written and opened.
class OneModel {
 public:
  explicit OneModel(const char* shape, const char* embeddings = "auto") {
    EXPECT_OK(tenon_random_model_write(path().c_str(), shape, "f32", 0, nullptr, nullptr));
    const OptionsPtr options = make_options();
    EXPECT_OK(tenon_options_set_int(options.get(), "threads", 2));
    EXPECT_OK(
        tenon_options_set_string(options.get(), "embeddings", embeddings, TENON_NUL_TERMINATED));
    tenon_model* model = nullptr;
    EXPECT_OK(tenon_model_open(path().c_str(), options.get(), &model));
    model_.reset(model);
  }
  [[nodiscard]] std::string path() const { return folder_.path("model.gguf"); }
  [[nodiscard]] const tenon_model* get() const { return model_.get(); }
  [[nodiscard]] EmbedderPtr embedder(const char* key = nullptr, const char* value = "") const {
    const OptionsPtr options = make_options();
    if (key != nullptr) {
      EXPECT_OK(tenon_options_parse(options.get(), key, value, TENON_NUL_TERMINATED));
    }
    tenon_embedder* embedder = nullptr;
    EXPECT_OK(tenon_embedder_create(get(), options.get(), &embedder));
    return EmbedderPtr(embedder);
  }

 private:
  tenon::TempFolder folder_;
  ModelPtr model_;
};

tenon_embedder_batch batch_of(const std::vector<const char*>& texts) {
  auto batch = sized<tenon_embedder_batch>();
  batch.count = texts.size();
  batch.texts = texts.data();
  return batch;
}

TEST(CEmbedder, GivesARowForEachText) {
  const OneModel model("tiny-bert");
  const EmbedderPtr embedder = model.embedder();
  auto info = sized<tenon_embedder_info>();
  ASSERT_OK(tenon_embedder_get_info(embedder.get(), &info));
  EXPECT_EQ(info.pooling, TENON_POOLING_CLS);
  EXPECT_EQ(info.normalizes, 1u);
  EXPECT_EQ(info.num_labels, 0u);
  EXPECT_GT(info.max_tokens, 8u);
  const size_t width = tenon_embedder_dimensions(embedder.get());
  EXPECT_EQ(info.dimensions, width);
  const std::vector<const char*> texts = {"the first", "a", "the first"};
  auto batch = batch_of(texts);
  std::array<uint64_t, 3> num_rows{};
  batch.num_rows = num_rows.data();
  size_t needed = 0;
  ASSERT_OK(tenon_embedder_embed(embedder.get(), &batch, nullptr, 0, &needed));
  ASSERT_EQ(needed, 3 * width);
  std::vector<float> rows(needed, 7.0f);
  ASSERT_OK(tenon_embedder_embed(embedder.get(), &batch, rows.data(), needed - 1, &needed));
  EXPECT_EQ(rows, std::vector<float>(needed, 7.0f)) << "too small a buffer stays as it is";
  ASSERT_OK(tenon_embedder_embed(embedder.get(), &batch, rows.data(), needed, &needed));
  EXPECT_EQ(num_rows, (std::array<uint64_t, 3>{1, 1, 1}));
  double squares = 0;
  for (size_t i = 0; i < width; ++i) squares += double{rows[i]} * rows[i];
  EXPECT_NEAR(squares, 1.0, 1e-6);
  EXPECT_TRUE(std::equal(rows.begin(), rows.begin() + width, rows.begin() + 2 * width));
  EXPECT_FALSE(std::equal(rows.begin(), rows.begin() + width, rows.begin() + width));
}

TEST(CEmbedder, IsForModelsThatGiveRows) {
  const auto uses = [](const char* shape, const char* embeddings, bool inspects) {
    const tenon::TempFolder folder;
    tenon::write_random_model(folder.path("model.gguf"), shape, "f32");
    const tenon::Model model(folder.path("model.gguf"),
                             {.inspect = inspects, .extra = {{"embeddings", embeddings}}});
    const tenon_model_info info = model.info();
    return std::pair(info.gives_text, info.gives_rows);
  };
  EXPECT_EQ(uses("tiny-bert", "auto", false), std::pair(0u, 1u));
  EXPECT_EQ(uses("tiny", "auto", false), std::pair(1u, 0u));
  EXPECT_EQ(uses("tiny", "on", false), std::pair(0u, 1u));
  EXPECT_EQ(uses("tiny", "also", false), std::pair(1u, 1u));
  EXPECT_EQ(uses("tiny", "also", true), std::pair(0u, 0u));
}

TEST(CEmbedder, TakesTokensAndNoTexts) {
  const OneModel model("tiny-bert");
  const EmbedderPtr embedder = model.embedder("pooling", "none");
  const std::array<tenon_token, 3> ids = {5, 6, 7};
  const std::array<const tenon_token*, 2> tokens = {ids.data(), ids.data()};
  const std::array<uint64_t, 2> counts = {3, 2};
  auto batch = sized<tenon_embedder_batch>();
  batch.count = 2;
  batch.tokens = tokens.data();
  batch.num_tokens = counts.data();
  std::array<uint64_t, 2> num_rows{};
  batch.num_rows = num_rows.data();
  size_t needed = 0;
  ASSERT_OK(tenon_embedder_embed(embedder.get(), &batch, nullptr, 0, &needed));
  EXPECT_EQ(needed, 5 * tenon_embedder_dimensions(embedder.get()));
  EXPECT_EQ(num_rows, (std::array<uint64_t, 2>{3, 2}));
  batch.count = 0;
  ASSERT_OK(tenon_embedder_embed(embedder.get(), &batch, nullptr, 0, &needed));
  EXPECT_EQ(needed, 0u);
}

TEST(CEmbedder, SaysWhatIsWrong) {
  const OneModel model("tiny-bert");
  const EmbedderPtr embedder = model.embedder();
  size_t needed = 99;
  std::string words;
  for (int i = 0; i < 3000; ++i) words += "a b ";
  const std::vector<const char*> texts = {"a", words.c_str()};
  auto batch = batch_of(texts);
  expect_failure(tenon_embedder_embed(embedder.get(), &batch, nullptr, 0, &needed),
                 TENON_ERROR_LIMIT, "text 1 has");
  batch.role = 3;
  expect_failure(tenon_embedder_embed(embedder.get(), &batch, nullptr, 0, &needed),
                 TENON_ERROR_ARGUMENT, "batch.role is 3");
  batch = batch_of(texts);
  batch.timeout_seconds = -1;
  expect_failure(tenon_embedder_embed(embedder.get(), &batch, nullptr, 0, &needed),
                 TENON_ERROR_ARGUMENT, "timeout_seconds is -1");
  batch = sized<tenon_embedder_batch>();
  batch.count = 1;
  expect_failure(tenon_embedder_embed(embedder.get(), &batch, nullptr, 0, &needed),
                 TENON_ERROR_ARGUMENT, "batch.tokens is NULL");
  expect_failure(tenon_embedder_embed(embedder.get(), nullptr, nullptr, 0, &needed),
                 TENON_ERROR_ARGUMENT, "tenon_embedder_batch is NULL");
  const char* const null_text = nullptr;
  batch.texts = &null_text;
  expect_failure(tenon_embedder_embed(embedder.get(), &batch, nullptr, 0, &needed),
                 TENON_ERROR_ARGUMENT, "a text of the batch is NULL");
  EXPECT_EQ(needed, 99u);
  const char* name = nullptr;
  size_t length = 0;
  expect_failure(tenon_embedder_label(embedder.get(), 0, &name, &length), TENON_ERROR_ARGUMENT,
                 "label 0 does not exist; there are 0");
  tenon_session* session = nullptr;
  expect_failure(tenon_session_create(model.get(), nullptr, &session), TENON_ERROR_STATE,
                 "opened for embeddings");
  tenon_embedder* other = nullptr;
  expect_failure(tenon_embedder_create(open_demo().get(), nullptr, &other), TENON_ERROR_STATE,
                 "set the option embeddings");
  const OptionsPtr options = make_options();
  ASSERT_OK(tenon_options_set_int(options.get(), "dimensions", 1 << 20));
  expect_failure(tenon_embedder_create(model.get(), options.get(), &other), TENON_ERROR_ARGUMENT,
                 "dimensions is 1048576");
}

TEST(CEmbedder, IsCancelledWhileItComputes) {
  const OneModel model("tiny-bert");
  const EmbedderPtr embedder = model.embedder();
  const std::vector<const char*> texts(100000, "some words of a text");
  const auto batch = batch_of(texts);
  std::vector<float> rows(texts.size() * tenon_embedder_dimensions(embedder.get()));
  std::atomic<bool> ended = false;
  std::thread other([&] {
    while (!ended) {
      EXPECT_OK(tenon_embedder_cancel(embedder.get()));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  size_t needed = 0;
  expect_failure(tenon_embedder_embed(embedder.get(), &batch, rows.data(), rows.size(), &needed),
                 TENON_ERROR_CANCELLED, "cancelled after");
  ended = true;
  other.join();
}

TEST(CppEmbedder, EmbedsAndRanks) {
  const OneModel written("tiny-qwen3", "on");
  const tenon::Model model(written.path(), {.threads = 2, .embeddings = "on"});
  const tenon::Embedder embedder(model, {.dimensions = 8});
  EXPECT_EQ(embedder.info().pooling, TENON_POOLING_LAST);
  const tenon::Rows rows = embedder.embed({"one text", "another"});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].size(), 8u);
  EXPECT_EQ(embedder.embed("another"), std::vector<float>(rows[1].begin(), rows[1].end()));
  const std::vector<std::string_view> documents = {"another", "one text"};
  const std::vector<float> scores = embedder.rank("one text", documents);
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_NEAR(scores[1], 1.0, 1e-6);
  EXPECT_LT(scores[0], scores[1]);
  const tenon::Embedder tokens(model, {.pooling = "none"});
  const std::vector<tenon::Token> ids = {3, 4, 5};
  const std::span<const tenon::Token> text(ids);
  EXPECT_EQ(tokens.embed_tokens(std::span(&text, 1)).size(), 3u);
  EXPECT_TRUE(embedder.embed(std::span<const std::string_view>()).values.empty());
}

}  // namespace
