// Every architecture against logits computed independently, in float64. To add an architecture, add
// it to make/goldens.py or a module of make/families, from which make_goldens.py and
// make_transformers_goldens.py write its files, and to the list below.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "file/open.h"
#include "tests/engine/tiny_engine.h"
#include "tests/golden/golden_model.h"
#include "tests/golden/missing_device.h"
#include "tests/golden/program_run.h"

namespace tenon::golden {
namespace {

constexpr const char* kGoldens[] = {
    "kimi-k3",       "llama",        "llama_biases",
    "llama_experts", "llama_linear", "llama_partial_rope",
    "llama_window",  "llama_yarn",   "qwen2",
    "qwen2moe",      "qwen3",        "qwen3moe",
};

/// Models with logits from their own implementation (make/families).
constexpr const char* kTransformersGoldens[] = {
    "afmoe",      "bailingmoe3",    "chameleon",    "chameleon_swin",  "deepseek32",
    "deepseek4",  "deepseek4_yarn", "deepseek41",   "deepseek41_yarn", "gemma3n",
    "glm-dsa",    "glm5next",       "glm5-next",    "granite-swa",     "granite-swa_experts",
    "hunyuan_vl", "hy_v3",          "hy_v4",        "laguna",          "laguna_values",
    "mimo2",      "minimax-m3",     "muse-glimmer", "qwen3vl",         "qwen3vlmoe",
    "qwen4exp",   "step35",
};

/// Encoders, of which a row is compared, and models with multi-part positions.
constexpr const char* kProgramGoldens[] = {
    "bert",     "bert_distilled",    "eurobert", "llama-embed", "modern-bert_silu",
    "neo-bert", "qwen3vl_positions", "t5encoder"};

[[maybe_unused]] constexpr double kMaxBlasError = 2e-4;
constexpr double kMaxGpuError = 2e-4;

class Golden : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] double error_of(const char* backend, const char* isa = "") const {
    ModelOptions options;
    options.backend = backend;
#ifdef TENON_BLAS_PLUGIN
    options.plugin_paths.emplace_back(TENON_BLAS_PLUGIN);
#endif
#ifdef TENON_VULKAN_PLUGIN
    options.plugin_paths.emplace_back(TENON_VULKAN_PLUGIN);
#endif
    options.plugin_paths.emplace_back(TENON_CUDA_PLUGIN);
    if (*isa != 0) options.backend_options = {{"isa", isa}};
    options.cache_type = CacheType::F32;
    options.threads = 2;
    Session session(Engine::create(load_source(golden_.source(), std::move(options))));
    EXPECT_EQ(session.engine()->model().backend_name(), backend);
    return largest_relative_error(evaluate_all(session, golden_.tokens()), golden_.logits());
  }
  /// Skips without a device.
  void expect_on_gpu(const char* backend, const char* plugin) const {
    const std::string missing = missing_device(backend, plugin);
    if (!missing.empty()) GTEST_SKIP() << missing;
    EXPECT_LE(error_of(backend), kMaxGpuError);
  }
  const GoldenModel golden_{GetParam()};
};

TEST_P(Golden, HasARowOfLogitsForEachToken) {
  EXPECT_GE(golden_.tokens().size(), 40u);
  EXPECT_EQ(golden_.logits().size(), golden_.tokens().size() * golden_.vocab());
}

TEST_P(Golden, OnTheReference) {
  const double error = error_of("reference");
  RecordProperty("error", std::to_string(1e6 * error));
  EXPECT_LE(error, kMaxReferenceError);
}

#ifdef TENON_BLAS_PLUGIN
TEST_P(Golden, OnBlas) { EXPECT_LE(error_of("blas"), kMaxBlasError); }
#endif

#ifdef TENON_VULKAN_PLUGIN
/// On the driver's first device.
TEST_P(Golden, OnVulkan) { expect_on_gpu("vulkan", TENON_VULKAN_PLUGIN); }
#endif

TEST_P(Golden, OnCudaOverItsEmulator) { expect_on_gpu("cuda", TENON_CUDA_PLUGIN); }

TEST_P(Golden, OnTheCpu) {
  for (const char* isa : {"", "portable"}) {
    const double error = error_of("cpu", isa);
    RecordProperty("error", std::to_string(1e6 * error));
    EXPECT_LE(error, kMaxCpuError) << isa;
  }
}

std::string test_name(const testing::TestParamInfo<const char*>& instance) {
  std::string name = instance.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, Golden, testing::ValuesIn(kGoldens), test_name);
INSTANTIATE_TEST_SUITE_P(Transformers, Golden, testing::ValuesIn(kTransformersGoldens), test_name);

/// Values of a golden's program after all tokens, in steps of `slice`.
std::vector<float> program_values(const GoldenModel& golden, const char* backend, size_t slice) {
  const auto file = open_model_file(golden.source());
  ProgramOptions options;
  options.cache_type = TENON_TYPE_F32;
  const BuiltProgram built = build_program(*file, options);
  const std::vector<Token> tokens = golden.tokens();
  const std::vector<int32_t> positions = golden.positions();
  ProgramRun run(device_of(backend), *file, built, static_cast<uint32_t>(tokens.size()));
  std::vector<float> all;
  for (size_t first = 0; first < tokens.size(); first += slice) {
    const size_t count = std::min(slice, tokens.size() - first);
    const auto part = positions.empty() ? std::span<const int32_t>()
                                        : std::span(positions).subspan(3 * first, 3 * count);
    const std::vector<float> values = run.run(std::span(tokens).subspan(first, count), part);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST_P(Golden, HasTheSameBitsInSlices) {
  for (const char* backend : {"reference", "cpu"}) {
    SCOPED_TRACE(backend);
    const std::vector<float> whole = program_values(golden_, backend, 512);
    EXPECT_EQ(program_values(golden_, backend, 7), whole);
    EXPECT_EQ(program_values(golden_, backend, 1), whole);
  }
}

TEST(Chameleon, SaysNoPieceOfAPicture) {
  GoldenModel named("chameleon");
  for (const uint32_t token : {0u, 5u, 6u, 63u}) named.name_token(token, "IMGIMGA");
  for (const char* backend : {"reference", "cpu"}) {
    SCOPED_TRACE(backend);
    std::vector<float> expected = program_values(GoldenModel("chameleon"), backend, 512);
    for (size_t i = 0; i < expected.size(); ++i) {
      const bool is_unsaid = i % 64 == 0 || i % 64 == 5 || i % 64 == 6 || i % 64 == 63;
      if (is_unsaid) expected[i] = std::numeric_limits<float>::lowest();
    }
    EXPECT_EQ(program_values(named, backend, 512), expected);
  }
}

class ProgramGolden : public testing::TestWithParam<const char*> {};

TEST_P(ProgramGolden, OnBothBackends) {
  const GoldenModel golden(GetParam());
  EXPECT_LE(largest_relative_error(program_values(golden, "reference", 512), golden.logits()),
            kMaxReferenceError);
  EXPECT_LE(largest_relative_error(program_values(golden, "cpu", 512), golden.logits()),
            kMaxCpuError);
}

INSTANTIATE_TEST_SUITE_P(Models, ProgramGolden, testing::ValuesIn(kProgramGoldens), test_name);

TEST(Goldens, AreAllInTheList) {
  std::vector<std::string> names(std::begin(kGoldens), std::end(kGoldens));
  names.insert(names.end(), std::begin(kTransformersGoldens), std::end(kTransformersGoldens));
  names.insert(names.end(), std::begin(kProgramGoldens), std::end(kProgramGoldens));
  for (const auto& entry : std::filesystem::directory_iterator(TENON_TEST_DATA_DIR "/golden")) {
    if (entry.is_directory()) continue;  // of further_test.cpp
    EXPECT_THAT(names, testing::Contains(entry.path().stem().string()));
  }
}

}  // namespace
}  // namespace tenon::golden
