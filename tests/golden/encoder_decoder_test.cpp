// Encoder-decoders against logits of other implementations: one test per model in
// tests/data/golden/encoder_decoder, written by make/make_transformers_goldens.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "file/open.h"
#include "tests/golden/golden_model.h"
#include "tests/golden/program_run.h"

namespace tenon::golden {
namespace {

std::vector<std::string> encoder_decoder_names() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(TENON_TEST_DATA_DIR "/golden/encoder_decoder")) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class EncoderDecoder : public testing::TestWithParam<std::string> {
 protected:
  /// [answer, vocab]: the answer after the source, in steps of `slice`.
  [[nodiscard]] std::vector<float> logits(const char* backend, size_t slice) const {
    const auto file = open_model_file(golden_.source());
    const ModelSpec spec = read_model_spec(*file);
    const std::vector<Token> tokens = golden_.tokens();
    const std::span<const Token> source = std::span(tokens).first(golden_.source_tokens());
    std::span<const Token> answer = std::span(tokens).subspan(source.size());
    ProgramOptions options;
    options.cache_type = TENON_TYPE_F32;
    const BuiltProgram reader = build_encoder_program(*file, spec, options);
    const BuiltProgram built = build_program(*file, spec, options);
    const std::shared_ptr<Device> device = device_of(backend);
    ProgramRun encoder(device, *file, reader, static_cast<uint32_t>(source.size()));
    (void)encoder.run(source);
    ProgramRun decoder(device, *file, built, static_cast<uint32_t>(answer.size()), &encoder);
    std::vector<float> all;
    while (!answer.empty()) {
      const size_t count = std::min(slice, answer.size());
      const std::vector<float> part = decoder.run(answer.first(count));
      all.insert(all.end(), part.begin(), part.end());
      answer = answer.subspan(count);
    }
    return all;
  }
  static constexpr size_t kWhole = 256;
  const GoldenModel golden_{"encoder_decoder/" + GetParam()};
};

TEST_P(EncoderDecoder, GivesTheLogitsOfAnotherImplementation) {
  EXPECT_LE(largest_relative_error(logits("reference", kWhole), golden_.logits()),
            kMaxReferenceError);
  EXPECT_LE(largest_relative_error(logits("cpu", kWhole), golden_.logits()), kMaxCpuError);
}

TEST_P(EncoderDecoder, HasTheSameBitsInSlices) {
  for (const char* backend : {"reference", "cpu"}) {
    const std::vector<float> whole = logits(backend, kWhole);
    EXPECT_EQ(logits(backend, 7), whole) << backend;
    EXPECT_EQ(logits(backend, 1), whole) << backend;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, EncoderDecoder, testing::ValuesIn(encoder_decoder_names()));

}  // namespace
}  // namespace tenon::golden
