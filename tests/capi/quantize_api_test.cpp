// tenon_quantize* and the C++ functions over them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <tenon/tenon.hpp>

#include "base/temp_folder.h"
#include "handles.h"

namespace {

using namespace tenon_test;

class QuantizeApi : public testing::Test {
 protected:
  QuantizeApi() { tenon::write_random_model(source_, "tiny", "f16"); }

  static tenon_quantize_options options(const char* type, const char* formats = nullptr) {
    tenon_quantize_options out{};
    out.struct_size = sizeof out;
    out.type = type;
    out.formats = formats;
    return out;
  }

  tenon_status quantize(const char* type, const char* formats = nullptr, uint32_t flags = 0,
                        uint64_t threads = 0) {
    tenon_quantize_options known = options(type, formats);
    known.flags = flags;
    known.threads = threads;
    return tenon_quantize(source_.c_str(), target_.c_str(), &known, nullptr, nullptr);
  }

  void expect_refused(tenon_status got, tenon_status status, const char* text) {
    expect_failure(got, status, text);
    EXPECT_FALSE(std::filesystem::exists(target_));
  }

  tenon::TempFolder folder_;
  std::string source_ = folder_.path("in.gguf");
  std::string target_ = folder_.path("out.gguf");
};

TEST_F(QuantizeApi, WritesAFileThatAnswers) {
  double last = -1;
  tenon::quantize(source_, target_, {.type = "Q4_K_M", .progress = [&](double fraction) {
                                       EXPECT_GE(fraction, last);
                                       last = fraction;
                                       return true;
                                     }});
  EXPECT_EQ(last, 1.0);
  EXPECT_LT(std::filesystem::file_size(target_), std::filesystem::file_size(source_));
  tenon::Session session{tenon::Model(target_)};
  session.append("hello");
  std::string text;
  for (const auto& piece : session.generate({.max_tokens = 3})) text += piece.text;
  EXPECT_FALSE(text.empty());
}

TEST_F(QuantizeApi, PlansWithoutWriting) {
  uint64_t after = 0;
  bool seen = false;
  for (const tenon::TensorChange& change :
       tenon::quantize_plan(source_, {.type = "Q8_0", .formats = "attn_k=q4_1"})) {
    after += change.bytes_after;
    if (change.name != "blk.0.attn_k.weight") continue;
    seen = true;
    EXPECT_EQ(change.from, "f16");
    EXPECT_EQ(change.to, "q4_1");
  }
  EXPECT_TRUE(seen);
  tenon::quantize(source_, target_, {.type = "Q8_0", .formats = "attn_k=q4_1"});
  EXPECT_GT(std::filesystem::file_size(target_), after);
}

TEST_F(QuantizeApi, SaysWhatIsWrong) {
  expect_refused(quantize("Q4_X"), TENON_ERROR_ARGUMENT, "no file type \"Q4_X\"");
  expect_refused(quantize("Q4_0", nullptr, 1u << 20), TENON_ERROR_ARGUMENT, "flags");
  expect_refused(quantize("Q4_0", nullptr, 0, 1u << 20), TENON_ERROR_ARGUMENT, "threads");
  expect_refused(quantize("Q4_0", "@output=q7"), TENON_ERROR_ARGUMENT, "no weight format \"q7\"");
  expect_refused(quantize("IQ1_S"), TENON_ERROR_UNSUPPORTED, "needs an importance matrix");
  const tenon_quantize_options known = options("Q4_0", "");
  const auto between = [&](const char* path, const char* target) {
    return tenon_quantize(path, target, &known, nullptr, nullptr);
  };
  expect_failure(between(nullptr, "x"), TENON_ERROR_ARGUMENT, "path is NULL");
  expect_failure(between(source_.c_str(), nullptr), TENON_ERROR_ARGUMENT, "target is NULL");
  expect_failure(between("/nowhere.gguf", "x"), TENON_ERROR_IO, "/nowhere.gguf");
  expect_failure(between(source_.c_str(), "/nowhere/out.gguf"), TENON_ERROR_IO,
                 "/nowhere/out.gguf");
  expect_failure(tenon_quantize_plan(source_.c_str(), &known, nullptr, 0, nullptr),
                 TENON_ERROR_ARGUMENT, "NULL");
  expect_failure(tenon_quantize(source_.c_str(), target_.c_str(), nullptr, nullptr, nullptr),
                 TENON_ERROR_ARGUMENT, "tenon_quantize_options is NULL");
}

TEST_F(QuantizeApi, WithoutATypeTheFileIsCopied) {
  ASSERT_EQ(quantize(nullptr), TENON_OK);
  for (const tenon::TensorChange& change : tenon::quantize_plan(target_, {.type = ""})) {
    EXPECT_EQ(change.from, change.to) << change.name;
  }
  EXPECT_EQ(std::filesystem::file_size(target_), std::filesystem::file_size(source_));
}

TEST_F(QuantizeApi, ADamagedFolderIsRefused) {
  std::filesystem::create_directory(folder_.path("model"));
  std::ofstream(folder_.path("model/config.json")) << "{}";
  const tenon_quantize_options known = options("Q4_0");
  const tenon_status status =
      tenon_quantize(folder_.path("model").c_str(), target_.c_str(), &known, nullptr, nullptr);
  EXPECT_NE(status, TENON_OK);
  EXPECT_THAT(tenon_last_error(), testing::HasSubstr("config.json"));
  EXPECT_FALSE(std::filesystem::exists(target_));
}

TEST_F(QuantizeApi, AnImportanceMatrixOfAnotherKindIsRefused) {
  tenon_quantize_options known = options("IQ2_XS");
  known.importance = source_.c_str();
  expect_refused(tenon_quantize(source_.c_str(), target_.c_str(), &known, nullptr, nullptr),
                 TENON_ERROR_FORMAT, "is not an importance matrix");
  known.importance = "/nowhere.dat";
  expect_refused(tenon_quantize(source_.c_str(), target_.c_str(), &known, nullptr, nullptr),
                 TENON_ERROR_IO, "/nowhere.dat");
}

TEST_F(QuantizeApi, ExceptionsOfFunctionsPass) {
  EXPECT_THROW(tenon::quantize(source_, target_,
                               {.progress = [](double) -> bool { throw std::out_of_range("x"); }}),
               std::out_of_range);
  EXPECT_FALSE(std::filesystem::exists(target_));
}

class ImportanceApi : public QuantizeApi {
 protected:
  std::string text_ = [] {
    std::string text;
    for (int i = 0; i < 300; ++i) text += std::to_string(i) + " ";
    return text;
  }();
  std::string matrix_ = folder_.path("matrix.gguf");
};

TEST_F(ImportanceApi, IsWrittenAndUsed) {
  double last = 0;
  tenon::write_importance(source_, text_, matrix_,
                          {.chunk_tokens = 64, .dataset = "numbers", .progress = [&](double done) {
                             EXPECT_GT(done, last);
                             last = done;
                             return true;
                           }});
  EXPECT_EQ(last, 1.0);
  const auto size = std::filesystem::file_size(matrix_);
  tenon::write_importance(source_, text_, matrix_, {.chunk_tokens = 64, .add_to = matrix_});
  EXPECT_EQ(std::filesystem::file_size(matrix_), size);
  tenon::quantize(source_, target_, {.type = "Q4_0", .importance = matrix_});
  tenon::Session session{tenon::Model(target_)};
  session.append("hello");
  EXPECT_FALSE(session.logits().empty());
}

TEST_F(ImportanceApi, SaysWhatIsWrong) {
  tenon_importance_options known{};
  known.struct_size = sizeof known;
  tenon_progress_callback progress = nullptr;
  const auto write = [&](const char* path, const std::string& text) {
    return tenon_importance_write(path, nullptr, text.data(), text.size(), matrix_.c_str(), &known,
                                  progress, nullptr);
  };
  expect_failure(write(nullptr, text_), TENON_ERROR_ARGUMENT, "path is NULL");
  expect_failure(write(source_.c_str(), "short"), TENON_ERROR_ARGUMENT, "give a longer text");
  known.flags = 1u << 20;
  expect_failure(write(source_.c_str(), text_), TENON_ERROR_ARGUMENT, "flags");
  known.flags = 0;
  known.chunk_tokens = uint64_t{1} << 40;
  expect_failure(write(source_.c_str(), text_), TENON_ERROR_ARGUMENT, "chunk_tokens");
  known.chunk_tokens = 64;
  known.add_to = source_.c_str();
  expect_failure(write(source_.c_str(), text_), TENON_ERROR_FORMAT, "is not an importance matrix");
  known.add_to = nullptr;
  tenon_options* options = nullptr;
  ASSERT_EQ(tenon_options_create(&options), TENON_OK);
  ASSERT_EQ(tenon_options_set_bool(options, "vocabulary_only", 1), TENON_OK);
  expect_failure(tenon_importance_write(source_.c_str(), options, text_.data(), text_.size(),
                                        matrix_.c_str(), &known, nullptr, nullptr),
                 TENON_ERROR_STATE, "vocabulary");
  tenon_options_destroy(options);
  progress = [](void*, double) -> int32_t { return 1; };
  expect_failure(write(source_.c_str(), text_), TENON_ERROR_CANCELLED, "cancelled");
  EXPECT_FALSE(std::filesystem::exists(matrix_));
}

TEST(QuantizeTypes, AreListed) {
  EXPECT_STREQ(tenon_quantize_type(0), "F32");
  EXPECT_EQ(tenon_quantize_type(SIZE_MAX), nullptr);
  const auto types = tenon::quantize_types();
  EXPECT_THAT(types, testing::Contains("Q4_K_M"));
  EXPECT_EQ(types.size(), 36u);
}

}  // namespace
