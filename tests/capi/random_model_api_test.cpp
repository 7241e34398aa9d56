// tenon_random_model_* and the C++ functions over them.
#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <tenon/tenon.hpp>

#include "base/temp_folder.h"

namespace {

TEST(RandomModelApi, ListsNames) {
  EXPECT_STREQ(tenon_random_model_shape(0), "tiny");
  EXPECT_STREQ(tenon_random_model_format(0), "f32");
  EXPECT_EQ(tenon_random_model_shape(SIZE_MAX), nullptr);
  EXPECT_EQ(tenon_random_model_format(SIZE_MAX), nullptr);
  EXPECT_GT(tenon::random_model_shapes().size(), 3u);
  EXPECT_EQ(tenon::random_model_formats().size(), 40u);
}

TEST(RandomModelApi, WritesAModel) {
  const tenon::TempFolder folder;
  double last = 0;
  tenon::write_random_model(folder.path("m"), "tiny", "Q4_0",
                            {.seed = 3, .progress = [&](double fraction) {
                               EXPECT_GE(fraction, last);
                               last = fraction;
                               return true;
                             }});
  EXPECT_EQ(last, 1.0);
  const tenon::Model model(folder.path("m"), {.threads = 1});
  EXPECT_EQ(model.info().layers, 2u);
  EXPECT_EQ(model.info().vocabulary, 512u);
}

TEST(RandomModelApi, WritesAMixtureOfExperts) {
  const tenon::TempFolder folder;
  tenon::write_random_model(folder.path("m"), "tiny-moe", "q8_0");
  const tenon::Model model(folder.path("m"), {.threads = 1});
  EXPECT_EQ(model.info().experts, 8u);
  EXPECT_EQ(model.info().experts_used, 2u);
  const tenon_execution how = model.execution();
  EXPECT_LT(how.token_multiplications + how.output_multiplications, model.info().parameters / 2);
}

TEST(RandomModelApi, TokensOfStatesTakeTheSameBytesOfTheCacheAtAnyLength) {
  const tenon::TempFolder folder;
  tenon::write_random_model(folder.path("m"), "tiny-mamba2", "q8_0");
  for (const bool inspect : {false, true}) {
    const tenon::Model model(folder.path("m"), {.threads = 1, .inspect = inspect});
    const uint64_t bytes = model.memory(2).token_cache_bytes;
    EXPECT_GT(bytes, 0u);
    EXPECT_EQ(model.memory(512).token_cache_bytes, bytes);
    // A session of two tokens holds the state that the second token reads and the state that it
    // writes.
    EXPECT_EQ(model.memory(2).kv_bytes, bytes);
  }
}

TEST(RandomModelApi, SaysWhatIsWrong) {
  const tenon::TempFolder folder;
  const std::string path = folder.path("m");
  EXPECT_EQ(tenon_random_model_write(nullptr, "tiny", "q4_0", 0, nullptr, nullptr),
            TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_random_model_write(path.c_str(), nullptr, "q4_0", 0, nullptr, nullptr),
            TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_random_model_write(path.c_str(), "tiny", nullptr, 0, nullptr, nullptr),
            TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_random_model_write("", "tiny", "q4_0", 0, nullptr, nullptr),
            TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_random_model_write("/dev/full", "tiny", "q4_0", 0, nullptr, nullptr),
            TENON_ERROR_IO);
  EXPECT_NE(std::string(tenon_last_error()).find("/dev/full"), std::string::npos);
  const auto cancel = [](void*, double) -> int32_t { return 1; };
  EXPECT_EQ(tenon_random_model_write(path.c_str(), "tiny", "q4_0", 0, cancel, nullptr),
            TENON_ERROR_CANCELLED);
  EXPECT_THROW(tenon::write_random_model(path, "tiny", "q4_0", {.progress = [](double) -> bool {
                                           throw std::out_of_range("mine");
                                         }}),
               std::out_of_range);
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
