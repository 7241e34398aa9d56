// The tiny models of the folder "architectures" beside the project, each with the logits of another
// engine: those that this build can load are run, the others say why not. The models are written
// when they are needed, by the script of that folder, which needs Python with numpy.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "tests/base/temp_folder.h"
#include "tests/engine/tiny_engine.h"
#include "tests/golden/golden.h"

namespace tenon::golden {
namespace {

// Of f32 weights and cache, as a part of the largest value. Measured up to 2.2e-6 and 6e-6.
constexpr double kMaxReferenceError = 3e-5;
constexpr double kMaxCpuError = 2e-4;

/// A row of the folder's manifest.
struct TinyFile {
  std::string name;
  std::string mode;  ///< what the expected values are of: "all" or "tail" tokens, "pool", "encdec"
  size_t columns = 0;  ///< of the logits
};

std::string folder() { return shared_path("architectures"); }

/// Those of the manifest; none where it is absent.
std::vector<TinyFile> tiny_files() {
  std::vector<TinyFile> files;
  const std::string manifest = folder() + "/manifest.json";
  if (!std::filesystem::exists(manifest)) return files;
  const nlohmann::json rows = nlohmann::json::parse(read_text(manifest));
  for (const auto& [key, row] : rows.items()) {
    files.push_back({key.substr(key.find('/') + 1), row.at("mode"), row.at("cols")});
  }
  return files;
}

// clang-format off
/// A build that cannot load one of these has lost something.
constexpr std::string_view kMustRun[] = {
    "bailingmoe", "cohere2", "command-r", "ernie4_5", "exaone4", "exaone4-swa64", "gemma", "gemma2",
    "gemma3", "glm4", "granite", "granitemoe", "hunyuan-dense", "hunyuan-moe", "internlm2", "llama",
    "minicpm", "mistral3-yarn", "mixtral", "nemotron", "olmo2", "olmo2-swa", "olmoe", "phi3",
    "phi3-long", "phi3-plain", "qwen2", "qwen2moe", "qwen3", "qwen3moe", "seed_oss", "smollm3",
    "stablelm",
};
// clang-format on

bool must_run(std::string_view name) {
  return std::find(std::begin(kMustRun), std::end(kMustRun), name) != std::end(kMustRun);
}

int run(const std::string& arguments) {
  return std::system((std::string("\"" TENON_PYTHON "\" -B ") + arguments).c_str());
}

class TinyFiles : public testing::TestWithParam<TinyFile> {
 protected:
  void SetUp() override {
    const TinyFile& file = GetParam();
    if (file.mode != "all" && file.mode != "tail") {
      GTEST_SKIP() << "the expected values are no logits of a text (" << file.mode << ")";
    }
    static const bool has_numpy = run("-c 'import numpy' 2> /dev/null") == 0;
    if (!has_numpy) {
      GTEST_SKIP() << "\"" TENON_PYTHON
                      "\" has no numpy, which the script that writes models needs";
    }
    const std::string log = models_.path("log");
    ASSERT_EQ(run(fmt::format("'{}/write_models.py' '{}' {} > '{}' 2>&1", folder(),
                              models_.path("."), file.name, log)),
              0)
        << read_text(log);
    path_ = models_.path(file.name + ".gguf");
    std::istringstream in(read_text(given("tokens")));
    tokens_ = {std::istream_iterator<Token>(in), {}};
    // What a program says is known before weights are read.
    ModelOptions options;
    options.inspect = true;
    try {
      Model::load(path_, std::move(options));
    } catch (const Error& error) {
      if (error.code() != Code::Unsupported || must_run(GetParam().name)) throw;
      GTEST_SKIP() << error.what();
    }
  }
  [[nodiscard]] static std::string given(const char* ending) {
    return folder() + "/given/" + GetParam().name + "." + ending;
  }
  /// Of the last rows of the text, as many as are expected.
  [[nodiscard]] double error_of(const char* backend) const {
    ModelOptions options;
    options.backend = backend;
    options.cache_type = "f32";
    options.context = static_cast<uint32_t>(tokens_.size());
    options.threads = 2;
    const std::vector<float> expected = read_floats(given("logits"));
    Session session(Engine::create(Model::load(path_, std::move(options))));
    const std::vector<float> logits = evaluate_all(session, tokens_);
    if (logits.size() < expected.size()) return INFINITY;
    return largest_relative_error(std::span(logits).last(expected.size()), expected);
  }

  const TempFolder models_;
  std::string path_;
  std::vector<Token> tokens_;
};

TEST_P(TinyFiles, GiveTheLogitsOfAnotherEngine) {
  EXPECT_LE(error_of("reference"), kMaxReferenceError);
  EXPECT_LE(error_of("cpu"), kMaxCpuError);
}

INSTANTIATE_TEST_SUITE_P(Architectures, TinyFiles, testing::ValuesIn(tiny_files()),
                         [](const auto& instance) {
                           std::string name = instance.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });
// Without the folder there are none.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TinyFiles);

TEST(TinyFilesFolder, IsBesideTheProject) {
  TENON_SKIP_WITHOUT(folder());
  EXPECT_EQ(tiny_files().size(), 86u);
}

}  // namespace
}  // namespace tenon::golden
