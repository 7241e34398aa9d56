// Loading models: sources, options, and properties of loaded models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/model.h"
#include "tests/base/expect_error.h"
#include "tests/base/temp_folder.h"
#include "tests/base/weighing_system.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<float> logits_of(std::shared_ptr<const Model> model) {
  Session session(Engine::create(std::move(model)));
  session.append(make_tokens(20));
  return last_logits(session);
}

// ---- Sources ------------------------------------------------------------------------------------

TEST(Model, IsTheSameFromPathAndMemory) {
  const TempFolder folder;
  const std::vector<std::byte> bytes = TinyModel().file();
  const std::vector<float> expected = logits_of(load_tiny());
  EXPECT_TRUE(same_bits(logits_of(Model::load(folder.write("m.gguf", bytes))), expected));
  EXPECT_TRUE(
      same_bits(logits_of(load_source(ByteSource::from_memory(bytes, "memory"))), expected));
}

TEST(Model, SaysWhatItIs) {
  TinyModel tiny;
  tiny.more = [](GgufWriter& writer) {
    writer.add("tokenizer.chat_template", std::string("{{ messages }}"));
  };
  const auto model = load_tiny(tiny);
  EXPECT_EQ(model->name(), "tiny");
  EXPECT_EQ(model->architecture(), "llama");
  EXPECT_EQ(model->chat_template(), "{{ messages }}");
  EXPECT_EQ(model->tokenizer()->size(), 300u);
  EXPECT_EQ(model->spec().layers.size(), 2u);
  EXPECT_EQ(model->spec().vocab, 300u);
  EXPECT_EQ(model->default_context(), 256u);
  EXPECT_EQ(model->backend_name(), "cpu");
  EXPECT_TRUE(model->can_run());
  const uint64_t layer = 96 * 2 + 2 * 96 * 96 + 2 * 32 * 96 + 3 * 160 * 96;
  EXPECT_EQ(model->num_parameters(), 300 * 96 + 96 + 2 * layer);
  // After the queries, keys and values of the last layer, only rows with wanted logits continue.
  const uint64_t attended = 96 * 96 + 2 * 32 * 96;
  const uint64_t rest = 96 * 96 + 3 * 160 * 96;
  EXPECT_EQ(model->step_work().token_multiplications, 2 * attended + rest);
  EXPECT_EQ(model->step_work().output_multiplications, rest + 300 * 96);
  uint64_t matrix_bytes = 0;  // includes the embedding, which is also the output
  for (const TensorInfo& tensor : model->file().tensors()) {
    if (tensor.rank == 2) matrix_bytes += tensor.bytes;
  }
  EXPECT_EQ(model->step_work().weight_bytes, matrix_bytes);
  EXPECT_THAT(std::string(model->device_description()), HasSubstr("kernels"));
}

TEST(Model, CapsTheDefaultContext) {
  TinyModel tiny;
  tiny.context = 131072;
  EXPECT_EQ(load_tiny(tiny)->default_context(), 8192u);
  ModelOptions options;
  options.context = 20000;
  EXPECT_EQ(load_tiny(tiny, std::move(options))->default_context(), 20000u);
}

// ---- Parts of a model ---------------------------------------------------------------------------

TEST(Model, OpenedForItsVocabularyHasNoProgram) {
  ModelOptions options;
  options.vocabulary_only = true;
  const auto model = load_tiny({}, std::move(options));
  EXPECT_FALSE(model->tokenizer()->encode("a b").empty());
  EXPECT_FALSE(model->has_program());
  EXPECT_FALSE(model->can_run());
  const auto message = AllOf(HasSubstr("tiny.gguf"), HasSubstr("vocabulary only"));
  expect_error(Code::State, message, [&] { Engine::create(model); });
  expect_error(Code::State, message, [&] { (void)model->spec(); });
  expect_error(Code::State, message, [&] { (void)model->memory(0); });
}

/// A vocabulary's keys only, like published vocabularies.
std::shared_ptr<const ByteSource> vocabulary_file() {
  GgufWriter writer;
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<int32_t> types = {2, 3, 3};
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(fmt::format("<0x{:02X}>", byte));
    types.push_back(6);
  }
  writer.add("general.architecture", std::string("llama"));
  writer.add("tokenizer.ggml.model", std::string("llama"));
  writer.add("tokenizer.ggml.tokens", tokens);
  writer.add("tokenizer.ggml.scores", std::vector<float>(tokens.size()));
  writer.add("tokenizer.ggml.token_type", types);
  return std::make_shared<OwnedSource>(writer.finish(), "vocab.gguf");
}

TEST(Model, OfAVocabularyFileTokenizesOnly) {
  const auto model = load_source(vocabulary_file());
  EXPECT_EQ(model->tokenizer()->encode("ab").size(), 5u) << "the bytes of a, b and the space mark";
  EXPECT_FALSE(model->has_program());
  expect_error(Code::State, AllOf(HasSubstr("vocab.gguf"), HasSubstr("vocabulary only")),
               [&] { Engine::create(model); });
}

TEST(Model, OpenedForInspectionHasFiguresButNoWeights) {
  const auto system = std::make_shared<FaultySystem>();
  const TempFolder folder;
  TinyModel tiny;
  tiny.layers = 12;
  const std::string path = folder.write("m.gguf", tiny.file());
  ModelOptions options;
  options.inspect = true;
  options.system = system;
  const auto model = Model::load(path, std::move(options));
  EXPECT_TRUE(model->has_program());
  EXPECT_GT(model->memory(64).weights_bytes, 0u);
  EXPECT_EQ(model->backend_name(), "");
  EXPECT_LT(system->bytes_read(), model->file().tensor_bytes() / 4);
  expect_error(Code::State, HasSubstr("inspection"), [&] { Engine::create(model); });
}

// ---- Options ------------------------------------------------------------------------------------

TEST(ModelOptions, OutOfRangeAreRefusedBeforeAnythingIsRead) {
  const auto refuse = [](const char* what, auto change) {
    const auto system = std::make_shared<FaultySystem>();
    ModelOptions options;
    options.system = system;
    change(options);
    expect_error(Code::Argument, HasSubstr(what),
                 [&] { Model::load("/does/not/matter.gguf", std::move(options)); });
    EXPECT_EQ(system->num_calls(), 0u) << what;
  };
  refuse("slice is 65537", [](ModelOptions& o) { o.slice = 65537; });
  refuse("context is 2147483648", [](ModelOptions& o) { o.context = 0x80000000u; });
  refuse("threads is 1025", [](ModelOptions& o) { o.threads = 1025; });
}

TEST(ModelOptions, UnknownBackendsAndKernelsAreNamed) {
  ModelOptions options;
  options.backend = "gpu9";
  expect_error(Code::Argument, AllOf(HasSubstr("gpu9"), HasSubstr("cpu"), HasSubstr("reference")),
               [&] { load_tiny({}, std::move(options)); });
  ModelOptions kernels;
  kernels.backend_options = {{"isa", "mmx"}};
  expect_error(Code::Argument, HasSubstr("mmx"), [&] { load_tiny({}, std::move(kernels)); });
  ModelOptions activations;
  activations.backend_options = {{"bf16_activations", "f64"}};
  expect_error(Code::Argument, AllOf(HasSubstr("bf16_activations"), HasSubstr("f64")),
               [&] { load_tiny({}, std::move(activations)); });
  ModelOptions reference;
  reference.backend = "reference";
  reference.backend_options = {{"bf16_activations", "f32"}};
  expect_error(Code::Argument, AllOf(HasSubstr("bf16_activations"), HasSubstr("reference")),
               [&] { load_tiny({}, std::move(reference)); });
}

TEST(ModelOptions, UnknownOptionsOfABackendNameTheNearest) {
  for (const char* backend : {"auto", "cpu"}) {
    ModelOptions options;
    options.backend = backend;
    options.backend_options = {{"bf16_activation", "f32"}};
    expect_error(
        Code::Argument,
        AllOf(HasSubstr("\"backend.bf16_activation\""), HasSubstr("\"backend.bf16_activations\"")),
        [&] { load_tiny({}, std::move(options)); });
  }
}

TEST(ModelOptions, APluginThatIsMissingLeavesTheCpu) {
  ModelOptions options;
  options.plugin_paths = {"/does/not/exist/libtenon-gpu9.so"};
  EXPECT_EQ(load_tiny({}, std::move(options))->backend_name(), "cpu");
}

TEST(ModelOptions, OverridesChangeWhatTheFileSays) {
  TinyModel other;
  other.left_out = {"llama.rope.freq_base"};
  other.more = [](GgufWriter& writer) { writer.add("llama.rope.freq_base", 500.0f); };
  ModelOptions options;
  options.overrides.push_back("llama.rope.freq_base=float:500");
  const std::vector<float> overridden = logits_of(load_tiny({}, std::move(options)));
  EXPECT_TRUE(same_bits(overridden, logits_of(load_tiny(other))));
  EXPECT_FALSE(same_bits(overridden, logits_of(load_tiny())));
}

TEST(ModelOptions, OverridesAreCheckedLikeTheFile) {
  ModelOptions options;
  options.overrides.push_back("llama.attention.head_count=int:0");
  expect_error(Code::Format, AllOf(HasSubstr("head_count"), HasSubstr("0")),
               [&] { load_tiny({}, std::move(options)); });
  ModelOptions mistyped;
  mistyped.overrides.push_back("llama.block_count=str:two");
  expect_error(Code::Format, AllOf(HasSubstr("llama.block_count"), HasSubstr("string")),
               [&] { load_tiny({}, std::move(mistyped)); });
}

TEST(ModelOptions, ProgressRisesToOneAndCanCancel) {
  std::vector<double> seen;
  ModelOptions options;
  options.progress = [&seen](double fraction) {
    seen.push_back(fraction);
    return true;
  };
  load_tiny({}, std::move(options));
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), 1.0);

  const auto system = std::make_shared<FaultySystem>();
  ModelOptions cancelling;
  cancelling.system = system;
  cancelling.progress = [](double) { return false; };
  expect_error(Code::Cancelled, HasSubstr("tiny.gguf"),
               [&] { load_tiny({}, std::move(cancelling)); });
  cancelling = {};
  EXPECT_TRUE(system->all_released());
}

TEST(ModelOptions, WeightsAreScannedOnRequest) {
  TinyModel tiny;
  tiny.edit = [](const std::string& name, std::span<float> values) {
    if (name == "blk.1.ffn_norm.weight") values[9] = std::nanf("");
  };
  EXPECT_TRUE(load_tiny(tiny)->can_run());
  ModelOptions options;
  options.check_weights = true;
  expect_error(
      Code::Format,
      AllOf(HasSubstr("\"blk.1.ffn_norm.weight\""), HasSubstr("row 0"), HasSubstr("column 9")),
      [&] { load_tiny(tiny, std::move(options)); });
}

// ---- Memory -------------------------------------------------------------------------------------

TEST(ModelMemory, IsWhatItTakes) {
  TinyModel tiny;
  tiny.width = tiny.feed_forward = 512;
  tiny.heads = 8;
  tiny.kv_heads = 4;
  tiny.key_dim = tiny.value_dim = 64;
  tiny.layers = 2;
  for (const char* backend : {"cpu", "reference"}) {
    SCOPED_TRACE(backend);
    const auto system = std::make_shared<WeighingSystem>();
    ModelOptions options;
    options.backend = backend;
    options.system = system;
    const auto model = load_tiny(tiny, std::move(options));
    const MemoryNeeds needs = model->memory(200);
    EXPECT_EQ(needs.context, 200u);
    const double held = static_cast<double>(system->held());
    const double said = static_cast<double>(needs.weights_bytes + needs.scratch_bytes);
    EXPECT_NEAR(held, said, 0.1 * said + (1 << 20));
    EXPECT_GE(needs.weights_bytes, model->file().tensor_bytes() * 9 / 10);

    const auto engine = Engine::create(model);
    Session session(engine, SessionOptions{200});
    evaluate_all(session, make_tokens(200));
    const BlockPool& pool = *engine->pools()[0];
    EXPECT_EQ(pool.num_used() * pool.block_bytes(), needs.kv_bytes);
    EXPECT_EQ(model->memory(32).kv_bytes * 7, needs.kv_bytes) << "7 blocks of 32";
  }
}

TEST(ModelMemory, WhileLoadingIsTheModelAndSomeChunks) {
  TinyModel tiny;
  tiny.width = tiny.feed_forward = 1024;
  tiny.heads = 8;
  tiny.kv_heads = 8;
  tiny.key_dim = tiny.value_dim = 128;
  tiny.layers = 3;
  tiny.formats = {Format::F16};
  const auto system = std::make_shared<WeighingSystem>();
  ModelOptions options;
  options.system = system;
  const auto model = load_tiny(tiny, std::move(options));
  const uint64_t chunks = uint64_t{2} * (4 << 20);  // of 2 threads
  EXPECT_LE(system->peak(), system->held() + chunks + (1 << 20));
}

TEST(ModelMemory, IsEstimatedBeforeLoading) {
  ModelOptions options;
  options.inspect = true;
  const MemoryNeeds estimate = load_tiny({}, std::move(options))->memory(0);
  const MemoryNeeds exact = load_tiny()->memory(0);
  EXPECT_EQ(estimate.context, 256u);
  EXPECT_EQ(estimate.kv_bytes, exact.kv_bytes);
  EXPECT_GT(estimate.scratch_bytes, 0u);
  expect_error(Code::Argument, HasSubstr("2147483648"),
               [] { (void)load_tiny()->memory(0x80000000u); });
}

}  // namespace
}  // namespace tenon
