#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <string>
#include <vector>

#include "handles.h"

namespace {

using namespace tenon_test;

class Tokenizer : public testing::Test {
 protected:
  void SetUp() override {
    const OptionsPtr options = make_options();
    ASSERT_OK(tenon_options_set_bool(options.get(), "vocabulary_only", 1));
    tenon_model* raw = nullptr;
    ASSERT_OK(tenon_model_open(TENON_DEMO_MODEL, options.get(), &raw));
    model_.reset(raw);
    ASSERT_OK(tenon_model_tokenizer(raw, &tokenizer_));
  }

  std::vector<tenon_token> encode(const std::string& text, uint32_t flags = 0) {
    size_t needed = 0;
    EXPECT_OK(
        tenon_tokenizer_encode(tokenizer_, text.data(), text.size(), flags, nullptr, 0, &needed));
    std::vector<tenon_token> tokens(needed);
    EXPECT_OK(tenon_tokenizer_encode(tokenizer_, text.data(), text.size(), flags, tokens.data(),
                                     tokens.size(), &needed));
    EXPECT_EQ(needed, tokens.size());
    return tokens;
  }

  std::string decode(const std::vector<tenon_token>& tokens, uint32_t flags = 0) {
    std::string text(256, '?');
    size_t needed = 0;
    EXPECT_OK(tenon_tokenizer_decode(tokenizer_, tokens.data(), tokens.size(), flags, text.data(),
                                     text.size(), &needed));
    text.resize(needed);
    return text;
  }

  ModelPtr model_;
  const tenon_tokenizer* tokenizer_ = nullptr;
};

TEST_F(Tokenizer, RoundTrip) {
  for (const std::string text :
       {"", "a", "Once upon a time", "  two  spaces\n\ttab", "äöü €", "🦊🦊"}) {
    EXPECT_EQ(decode(encode(text)), text);
  }
}

TEST_F(Tokenizer, SmallBufferStaysUntouchedAndLearnsTheSize) {
  const std::string text = "Once upon a time";
  const size_t count = encode(text).size();
  ASSERT_GT(count, 2u);
  for (size_t capacity = 0; capacity < count; ++capacity) {
    std::vector<tenon_token> tokens(count, -7);
    size_t needed = 0;
    ASSERT_OK(tenon_tokenizer_encode(tokenizer_, text.data(), text.size(), 0, tokens.data(),
                                     capacity, &needed));
    EXPECT_EQ(needed, count);
    EXPECT_EQ(tokens, std::vector<tenon_token>(count, -7));
  }
  size_t needed = 0;
  expect_failure(
      tenon_tokenizer_encode(tokenizer_, text.data(), text.size(), 0, nullptr, 5, &needed),
      TENON_ERROR_ARGUMENT, "buffer is NULL");
  expect_failure(
      tenon_tokenizer_encode(tokenizer_, text.data(), text.size(), 0, nullptr, 0, nullptr),
      TENON_ERROR_ARGUMENT, "NULL");
}

TEST_F(Tokenizer, FlagsDecideAboutSpecialTokens) {
  const std::string text = "<|im_start|>";
  EXPECT_EQ(encode(text, TENON_PARSE_SPECIAL).size(), 1u);
  EXPECT_GT(encode(text).size(), 1u);
  EXPECT_EQ(decode(encode(text, TENON_PARSE_SPECIAL)), "");
  EXPECT_EQ(decode(encode(text, TENON_PARSE_SPECIAL), TENON_RENDER_SPECIAL), text);
  size_t needed = 0;
  expect_failure(tenon_tokenizer_encode(tokenizer_, "a", 1, 64, nullptr, 0, &needed),
                 TENON_ERROR_ARGUMENT, "flags 0x40");
  expect_failure(
      tenon_tokenizer_decode(tokenizer_, nullptr, 0, TENON_ADD_SPECIAL, nullptr, 0, &needed),
      TENON_ERROR_ARGUMENT, "flags 0x1");
}

TEST_F(Tokenizer, TokensTellTheirAttributes) {
  tenon_token start = 77;
  ASSERT_OK(tenon_tokenizer_find(tokenizer_, "<|im_start|>", TENON_NUL_TERMINATED, &start));
  ASSERT_GE(start, 0);
  tenon_token end = 77;
  ASSERT_OK(tenon_tokenizer_find(tokenizer_, "<|im_end|>", TENON_NUL_TERMINATED, &end));
  auto details = sized<tenon_token_info>();
  ASSERT_OK(tenon_tokenizer_token_info(tokenizer_, start, &details));
  EXPECT_EQ(std::string(details.spelling, details.spelling_length), "<|im_start|>");
  EXPECT_EQ(details.text_length, 0u);
  EXPECT_EQ(details.attributes, TENON_TOKEN_CONTROL);
  ASSERT_OK(tenon_tokenizer_token_info(tokenizer_, end, &details));
  EXPECT_EQ(details.attributes, TENON_TOKEN_CONTROL | TENON_TOKEN_END);
  ASSERT_OK(tenon_tokenizer_token_info(tokenizer_, encode("a")[0], &details));
  EXPECT_EQ(details.attributes, 0u);
  EXPECT_EQ(std::string(details.text, details.text_length), "a");

  tenon_token none = 77;
  ASSERT_OK(tenon_tokenizer_find(tokenizer_, "<|nothing|>", TENON_NUL_TERMINATED, &none));
  EXPECT_EQ(none, TENON_NO_TOKEN);
}

TEST_F(Tokenizer, RolesMayBeEmptyButNotUnknown) {
  tenon_token token = 77;
  ASSERT_OK(tenon_tokenizer_special(tokenizer_, TENON_SPECIAL_END, &token));
  EXPECT_GE(token, 0);
  for (int32_t role = TENON_SPECIAL_BEGIN; role <= TENON_SPECIAL_PADDING; ++role) {
    token = 77;
    EXPECT_OK(tenon_tokenizer_special(tokenizer_, role, &token));
    EXPECT_NE(token, 77);
  }
  for (const int32_t role : {0, 6, -1}) {
    expect_failure(tenon_tokenizer_special(tokenizer_, role, &token), TENON_ERROR_ARGUMENT, "role");
  }
}

TEST_F(Tokenizer, IdsOutsideTheVocabularyAreRefused) {
  auto details = sized<tenon_token_info>();
  for (const tenon_token bad : {-1, 1024, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(tenon_tokenizer_token_info(tokenizer_, bad, &details), TENON_ERROR_ARGUMENT);
    size_t needed = 0;
    EXPECT_EQ(tenon_tokenizer_decode(tokenizer_, &bad, 1, 0, nullptr, 0, &needed),
              TENON_ERROR_ARGUMENT);
  }
}

TEST(TokenizerFile, OpensTheVocabularyOfAModelFile) {
  tenon_tokenizer* opened = nullptr;
  ASSERT_OK(tenon_tokenizer_open(TENON_DEMO_MODEL, &opened));
  EXPECT_GT(tenon_tokenizer_count(opened), 256u);
  tenon_tokenizer_destroy(opened);
  tenon_tokenizer_destroy(nullptr);
}

TEST(TokenizerFile, ReadsATokenizerJsonFromMemory) {
  std::string json =
      R"({"pre_tokenizer": {"type": "WhitespaceSplit"}, "model": {"type": "WordLevel",)"
      R"( "unk_token": "?", "vocab": {"?": 0, "hello": 1, "world": 2}}})";
  tenon_source source{};
  source.struct_size = sizeof source;
  source.kind = TENON_SOURCE_MEMORY;
  source.data = json.data();
  source.size = json.size();
  tenon_tokenizer* opened = nullptr;
  ASSERT_OK(tenon_tokenizer_load(&source, &opened));
  json.assign(json.size(), 'x');  // the call has copied the text
  tenon_token tokens[4] = {};
  size_t count = 0;
  ASSERT_OK(tenon_tokenizer_encode(opened, "world hello!", 12, 0, tokens, 4, &count));
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(tokens[0], 2);
  EXPECT_EQ(tokens[1], 0);
  tenon_tokenizer_destroy(opened);
}

TEST(TokenizerFile, RefusesOtherFilesAndLeavesTheResultAlone) {
  tenon_tokenizer* opened = nullptr;
  EXPECT_EQ(tenon_tokenizer_open("/nonexistent/tokenizer.json", &opened), TENON_ERROR_IO);
  EXPECT_EQ(tenon_tokenizer_open(nullptr, &opened), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_tokenizer_open(TENON_DEMO_MODEL, nullptr), TENON_ERROR_ARGUMENT);
  const std::string json = R"({"model": {"type": "Nameless"}})";
  tenon_source source{};
  source.struct_size = sizeof source;
  source.kind = TENON_SOURCE_MEMORY;
  source.data = json.data();
  source.size = json.size();
  EXPECT_EQ(tenon_tokenizer_load(&source, &opened), TENON_ERROR_FORMAT);
  EXPECT_EQ(tenon_tokenizer_load(nullptr, &opened), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(opened, nullptr);
}

TEST_F(Tokenizer, OfAModelIsNotDestroyedByItself) {
  tenon_tokenizer_destroy(const_cast<tenon_tokenizer*>(tokenizer_));
  EXPECT_FALSE(encode("still here").empty());
}

}  // namespace
