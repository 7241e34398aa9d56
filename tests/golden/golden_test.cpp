// Every architecture against logits that were computed apart from the engine, in float64. An
// architecture is added to make/goldens.py, whose make_goldens.py writes its files, and to the list
// here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/tiny_engine.h"
#include "tests/golden/golden_model.h"

namespace tenon::golden {
namespace {

constexpr const char* kGoldens[] = {
    "llama",        "llama_biases", "llama_experts", "llama_linear", "llama_partial_rope",
    "llama_window", "llama_yarn",   "qwen2",         "qwen2moe",     "qwen3",
    "qwen3moe",
};

// Measured up to 6.4e-7 and 3.4e-6.
constexpr double kMaxReferenceError = 3e-5;
constexpr double kMaxCpuError = 2e-4;

class Golden : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] double error_of(const char* backend, const char* isa = "") const {
    ModelOptions options;
    options.backend = backend;
    if (*isa != 0) options.backend_options = {{"isa", isa}};
    options.cache_type = "f32";
    options.threads = 2;
    Session session(Engine::create(load_source(golden_.source(), std::move(options))));
    return largest_relative_error(evaluate_all(session, golden_.tokens()), golden_.logits());
  }
  const GoldenModel golden_{GetParam()};
};

TEST_P(Golden, HasARowOfLogitsForEachToken) {
  EXPECT_GE(golden_.tokens().size(), 40u);
  EXPECT_EQ(golden_.logits().size(), golden_.tokens().size() * golden_.vocab());
}

TEST_P(Golden, OnTheReference) { EXPECT_LE(error_of("reference"), kMaxReferenceError); }

TEST_P(Golden, OnTheCpu) {
  for (const char* isa : {"", "portable"}) EXPECT_LE(error_of("cpu", isa), kMaxCpuError) << isa;
}

INSTANTIATE_TEST_SUITE_P(Models, Golden, testing::ValuesIn(kGoldens),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(Goldens, AreAllInTheList) {
  for (const auto& entry : std::filesystem::directory_iterator(TENON_TEST_DATA_DIR "/golden")) {
    EXPECT_THAT(kGoldens, testing::Contains(entry.path().stem().string()));
  }
}

}  // namespace
}  // namespace tenon::golden
