// The tiny models of the folder "architectures" beside the project, each with another engine's
// results: logits of all or the last tokens, or an encoder's row. Models are written on demand by
// the folder's script, which needs Python with numpy.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/embedder.h"
#include "file/open.h"
#include "tests/base/temp_folder.h"
#include "tests/golden/golden.h"
#include "tests/golden/program_run.h"
#include "text/tokenizer/vocabulary.h"

namespace tenon::golden {
namespace {

/// A row of the folder's manifest.
struct TinyFile {
  std::string name;
  std::string mode;    ///< scope of the expected values: "all" or "tail" tokens, "pool", "encdec"
  size_t columns = 0;  ///< of the logits
};

/// Shows the name in test reports.
void PrintTo(const TinyFile& file, std::ostream* out) { *out << file.name; }

std::string folder() { return shared_path("architectures"); }

/// Models in the manifest; empty without it.
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

constexpr const char* kTanh = "bert.hidden_act=str:gelu_new";

int run(const std::string& arguments) {
  return std::system((std::string("\"" TENON_PYTHON "\" -B ") + arguments).c_str());
}

class TinyFiles : public testing::TestWithParam<TinyFile> {
 protected:
  void SetUp() override {
    const TinyFile& file = GetParam();
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
    OpenOptions options;
    // The other engine computes GELU by tanh only.
    if (file.name == "bert") options.overrides.push_back(parse_metadata_override(kTanh));
    file_ = open_model_file(models_.path(file.name + ".gguf"), std::move(options));
    tokens_ = tokens_of("tokens");
  }
  [[nodiscard]] static std::vector<Token> tokens_of(const char* ending) {
    std::istringstream in(read_text(given(ending)));
    return {std::istream_iterator<Token>(in), {}};
  }
  [[nodiscard]] static std::string given(const char* ending) {
    return folder() + "/given/" + GetParam().name + "." + ending;
  }
  /// Specification; for decoders with an expected last row, the one that gives rows.
  [[nodiscard]] ModelSpec spec() const {
    ModelSpec model = read_model_spec(*file_);
    return GetParam().mode == "pool" ? row_spec(*file_, std::move(model)) : model;
  }
  /// Values of a result after all tokens, in steps of `slice`.
  [[nodiscard]] std::vector<float> values(const char* backend, size_t slice) const {
    const ModelSpec model = spec();
    ProgramOptions options;
    options.cache_type = TENON_TYPE_F32;
    options.limits = {kSlice, kSlice};
    const std::shared_ptr<Device> device = device_of(backend);
    const BuiltProgram built = build_program(*file_, model, options);
    if (model.encoder_layers.empty()) {
      ProgramRun run(device, *file_, built, static_cast<uint32_t>(tokens_.size()));
      return all_values(run, tokens_, slice);
    }
    const std::vector<Token> texts = tokens_of("tokens.dec");
    const BuiltProgram reader = build_encoder_program(*file_, model, options);
    ProgramRun encoder(device, *file_, reader, static_cast<uint32_t>(tokens_.size()));
    (void)encoder.run(tokens_);
    ProgramRun decoder(device, *file_, built, static_cast<uint32_t>(texts.size()), &encoder);
    return all_values(decoder, texts, slice);
  }
  static std::vector<float> all_values(ProgramRun& run, std::span<const Token> tokens,
                                       size_t slice) {
    std::vector<float> all;
    while (!tokens.empty()) {
      const size_t count = std::min(slice, tokens.size());
      const std::vector<float> values = run.run(tokens.first(count));
      all.insert(all.end(), values.begin(), values.end());
      tokens = tokens.subspan(count);
    }
    return all;
  }
  /// Error over the expected last rows of the text.
  [[nodiscard]] double error_of(const char* backend) const {
    const std::vector<float> expected = read_floats(given("logits"));
    const std::vector<float> all = values(backend, kSlice);
    if (all.size() < expected.size()) return INFINITY;
    return largest_relative_error(std::span(all).last(expected.size()), expected);
  }
  void expect_same_bits_in_slices() const {
    if (spec().sees_ahead()) return;  // an encoder's text is whole in a step
    const std::vector<float> whole = values("cpu", kSlice);
    EXPECT_EQ(values("cpu", 7), whole);
    if (tokens_.size() <= kSlice) {
      EXPECT_EQ(values("cpu", 1), whole);
    }
  }
  void expect_rows_of_an_embedder() const {
    ModelOptions options;
    options.embeddings = Embeddings::On;
    options.cache_type = CacheType::F32;
    options.threads = 2;
    if (GetParam().name == "bert") options.overrides.push_back(kTanh);
    const auto model = Model::load(models_.path(GetParam().name + ".gguf"), std::move(options));
    const auto rows = [&](std::optional<Pooling> pooling) {
      Embedder embedder(model, {.pooling = pooling, .normalize = false});
      EmbedderText text{tokens_};
      embedder.check(text, 0);
      std::vector<float> values(embedder.num_rows(text) * embedder.info().dimensions);
      embedder.embed(std::span(&text, 1), values.data(), UINT64_MAX);
      return values;
    };
    EXPECT_LE(largest_relative_error(rows({}), read_floats(given("logits"))), kMaxCpuError);
    // Token rows have also passed the layers after the pooling.
    if (spec().pooled_widths[0] != 0) return;
    EXPECT_LE(largest_relative_error(rows(Pooling::None), read_floats(given("embd"))),
              kMaxCpuError);
  }
  static constexpr size_t kSlice = 256;

  const TempFolder models_;
  std::shared_ptr<const ModelFile> file_;
  std::vector<Token> tokens_;
};

// One test for all: writing the model takes longer than each check.
TEST_P(TinyFiles, GiveTheValuesOfAnotherEngineInStepsOfAllSizes) {
  const double reference = error_of("reference");
  const double cpu = error_of("cpu");
  RecordProperty("reference", fmt::format("{:.1e}", reference));
  RecordProperty("cpu", fmt::format("{:.1e}", cpu));
  EXPECT_LE(reference, kMaxReferenceError);
  EXPECT_LE(cpu, kMaxCpuError);
  expect_same_bits_in_slices();
  if (GetParam().mode == "pool") expect_rows_of_an_embedder();
}

INSTANTIATE_TEST_SUITE_P(Architectures, TinyFiles, testing::ValuesIn(tiny_files()),
                         [](const auto& instance) {
                           std::string name = instance.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });
// Empty without the folder.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TinyFiles);

TEST(TinyFilesFolder, IsBesideTheProject) {
  TENON_SKIP_WITHOUT(folder());
  EXPECT_EQ(tiny_files().size(), 86u);
}

}  // namespace
}  // namespace tenon::golden
