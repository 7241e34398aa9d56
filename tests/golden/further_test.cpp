// Further architectures against logits of other implementations: one test per model in
// tests/data/golden/further, written by make/make_transformers_goldens.py and others.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "file/open.h"
#include "tests/golden/golden_model.h"
#include "tests/golden/program_run.h"

namespace tenon::golden {
namespace {

std::vector<std::string> further_names() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(TENON_TEST_DATA_DIR "/golden/further")) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Further : public testing::TestWithParam<std::string> {
 protected:
  /// Logits of all tokens, in steps of `slice`.
  [[nodiscard]] std::vector<float> logits(const char* backend, size_t slice) const {
    const auto file = open_model_file(golden_.source());
    const std::vector<Token> tokens = golden_.tokens();
    ProgramOptions options;
    options.cache_type = TENON_TYPE_F32;
    options.context = golden_.context();
    const BuiltProgram built = build_program(*file, options);
    ProgramRun run(device_of(backend), *file, built, static_cast<uint32_t>(tokens.size()));
    std::vector<float> all;
    for (size_t first = 0; first < tokens.size(); first += slice) {
      const size_t count = std::min(slice, tokens.size() - first);
      const std::vector<float> part = run.run(std::span(tokens).subspan(first, count));
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
  static constexpr size_t kWhole = 256;
  const GoldenModel golden_{"further/" + GetParam()};
};

TEST_P(Further, GivesTheLogitsOfAnotherImplementation) {
  const double reference = largest_relative_error(logits("reference", kWhole), golden_.logits());
  const double cpu = largest_relative_error(logits("cpu", kWhole), golden_.logits());
  RecordProperty("reference", fmt::format("{:.1e}", reference));
  RecordProperty("cpu", fmt::format("{:.1e}", cpu));
  EXPECT_LE(reference, kMaxReferenceError);
  EXPECT_LE(cpu, kMaxCpuError);
}

TEST_P(Further, HasTheSameBitsInSlices) {
  for (const char* backend : {"reference", "cpu"}) {
    const std::vector<float> whole = logits(backend, kWhole);
    EXPECT_EQ(logits(backend, 7), whole) << backend;
    EXPECT_EQ(logits(backend, 1), whole) << backend;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Further, testing::ValuesIn(further_names()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace tenon::golden
