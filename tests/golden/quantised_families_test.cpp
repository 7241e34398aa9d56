// A small model per family in the common file formats Q8_0 and Q4_K_M: the reference on the blocks
// against the reference on equal f32 values, and the CPU against the reference.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/architectures.h"
#include "backends/cpu/device.h"
#include "engine/embedder.h"
#include "file/open.h"
#include "random_model/random_model.h"
#include "tests/base/temp_folder.h"
#include "tests/engine/tiny_engine.h"
#include "tests/file/gguf_writer.h"
#include "tests/golden/golden.h"

namespace tenon::golden {
namespace {

// Largest distance of the CPU's logits, with 8-bit activations, to the reference's. A misread block
// gives 1 and more.
constexpr double kRounding = 0.05;  // rounding alone, through four layers: up to 3.9 %
constexpr double kCarried = 0.2;    // large scores, or a state that accumulates errors: up to 9.0 %
constexpr double kChoices = 0.6;    // close choices of experts or positions differ: up to 33 %

struct Family {
  const char* architecture;
  const char* name;
  double max_rmse;
};
void PrintTo(const Family& family, std::ostream* out) { *out << family.architecture; }

// clang-format off
constexpr Family kFamilies[] = {
    {"llama", "dense", kRounding},            {"phi3", "fused", kRounding},
    {"gemma3", "window", kRounding},          {"bert", "encoder", kRounding},
    {"lfm2", "convolution", kRounding},       {"mamba2", "mamba2", kRounding},
    {"rwkv7", "rwkv7", kRounding},            {"granitehybrid", "hybrid", kRounding},
    {"mamba", "mamba", kCarried},             {"t5encoder", "relative", kCarried},
    {"qwen3moe", "experts", kChoices},        {"gpt-oss", "sinks", kChoices},
    {"deepseek2", "latent", kChoices},        {"deepseek32", "index", kChoices},
    {"qwen3next", "delta_rule", kChoices},    {"kimi-linear", "kimi_delta", kChoices},
    {"grovemoe", "adjugate", kChoices},       {"phimoe", "sparse_mixer", kChoices},
    {"deepseek41", "candidates", kChoices},
};
// clang-format on

/// Results of a random model of the family: logits of all tokens, or an encoder's rows.
std::vector<float> answers(const std::string& path, const char* backend,
                           std::vector<std::pair<std::string, std::string>> backend_options = {}) {
  ModelOptions options;
  options.backend_options = std::move(backend_options);
  options.threads = 2;
  options.backend = backend;
  options.cache_type = CacheType::F32;
  const auto model = Model::load(path, std::move(options));
  const std::vector<Token> tokens = make_tokens(24, 1, 512);
  if (!read_model_spec(*open_model_file(path)).pooling) {
    Session session(Engine::create(model));
    return evaluate_all(session, tokens);
  }
  Embedder embedder(model, {.pooling = Pooling::None});
  const EmbedderText text{tokens};
  std::vector<float> rows(tokens.size() * embedder.info().dimensions);
  embedder.embed(std::span(&text, 1), rows.data(), UINT64_MAX);
  return rows;
}

/// Copies the file with every tensor as f32: equal metadata bytes, a new directory and values.
std::string as_f32(const std::string& path) {
  const std::string bytes = read_text(path);
  const auto file = open_model_file(path);
  ByteWriter name;
  name.put_string(file->tensors()[0].name);
  const std::string_view first(reinterpret_cast<const char*>(name.bytes().data()), name.size());
  const size_t directory = bytes.find(first);
  ByteWriter out;
  out.put_bytes(std::as_bytes(std::span(bytes).first(directory)));
  uint64_t offset = 0;
  for (const TensorInfo& tensor : file->tensors()) {
    out.put_string(tensor.name).put<uint32_t>(tensor.rank);
    for (uint32_t i = tensor.rank; i > 0; --i) out.put<uint64_t>(tensor.shape[i - 1]);
    out.put<uint32_t>(static_cast<uint32_t>(Format::F32)).put<uint64_t>(offset);
    offset += (tensor.num_values() * sizeof(float) + 31) / 32 * 32;
  }
  for (const TensorInfo& tensor : file->tensors()) {
    out.pad_to(32);
    std::vector<std::byte> stored(tensor.bytes);
    file->read(tensor, 0, stored);
    std::vector<float> values(tensor.num_values());
    find_format(tensor.format)->decode_row(stored.data(), values.data(), values.size());
    out.put_bytes(std::as_bytes(std::span(values)));
  }
  const std::vector<std::byte>& all = out.bytes();
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

class QuantisedFamily : public testing::TestWithParam<Family> {};

TEST_P(QuantisedFamily, AnswersAsItsDecodedValuesDo) {
  const TempFolder folder;
  for (const char* mix : {"q8_0", "Q4_K_M"}) {
    SCOPED_TRACE(mix);
    const std::string path = folder.path("m.gguf");
    write_random_model(System::real(), path, std::string("tiny-") + GetParam().architecture, mix);
    const std::vector<float> expected =
        answers(folder.write("f32.gguf", as_f32(path)), "reference");
    const std::vector<float> reference = answers(path, "reference");
    EXPECT_LE(largest_relative_error(reference, expected), 1e-6);
    const double cpu = relative_rmse(answers(path, "cpu"), reference);
    RecordProperty(mix, std::to_string(cpu));
    EXPECT_LE(cpu, GetParam().max_rmse);
  }
}

TEST(F16Weights, AreMultipliedInFixedPointInEncodersAlone) {
  const TempFolder folder;
  const std::string path = folder.path("m.gguf");
  const auto with = [&](const char* activations) {
    return answers(path, "cpu", {{"f16_activations", activations}});
  };
  write_random_model(System::real(), path, "tiny-bert", "f16");
  const std::vector<float> encoded = with("f32");
  EXPECT_LE(relative_rmse(encoded, answers(path, "reference")), 1e-5);
  EXPECT_TRUE(same_bits(answers(path, "cpu"), with("fixed")));
  EXPECT_LE(relative_rmse(with("fixed"), encoded), 2e-3);
  EXPECT_EQ(!same_bits(with("fixed"), encoded), cpu::choose_kernels("")->fixed_f16);

  write_random_model(System::real(), path, "tiny-llama", "f16");
  const std::vector<float> logits = with("f32");
  EXPECT_TRUE(same_bits(answers(path, "cpu"), logits));
  EXPECT_LE(relative_rmse(with("fixed"), logits), 2e-3);
  EXPECT_EQ(!same_bits(with("fixed"), logits), cpu::choose_kernels("")->fixed_f16);
}

INSTANTIATE_TEST_SUITE_P(Models, QuantisedFamily, testing::ValuesIn(kFamilies),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace tenon::golden
