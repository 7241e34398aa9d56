// Files of every architecture with keys and tensors that were changed at random: each is refused
// with a sentence that names what is wrong, or runs to logits that are finite or reported, within
// the memory that the model tells.
//
//     TENON_MUTATIONS=10000 TENON_MUTATION_SEED=7 build-dev/bin/test_mutation
//
// shares so many among all models, of another seed. TENON_MUTATION_LOG=1 tells each one before it
// runs, TENON_MUTATION_ONLY=N runs number N of each model alone, TENON_MUTATION_SECONDS=2 refuses those
// that take more of the processor.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

#include "engine/engine.h"
#include "engine/session.h"
#include "program/cache_types.h"
#include "random_model/random_model.h"
#include "tests/base/expect_error.h"
#include "tests/base/temp_folder.h"
#include "tests/base/weighing_system.h"
#include "tests/engine/tiny_engine.h"
#include "tests/golden/golden.h"
#include "tests/golden/program_run.h"
#include "tests/mutation/mutate.h"

namespace tenon::mutation {
namespace {

constexpr uint32_t kContext = 80;

/// Of the processor. No file here takes four; what hangs takes for ever.
constexpr uint64_t kMostSeconds = 60;

uint64_t setting(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

/// A tiny model of the folder "architectures" beside the project, or a random one of an
/// architecture.
struct Base {
  std::string name;
  bool is_random;
};
void PrintTo(const Base& base, std::ostream* out) { *out << base.name; }

std::string folder() { return golden::shared_path("architectures"); }

std::vector<Base> bases() {
  std::vector<Base> all;
  for (const NamedArchitecture& one : architectures()) {
    all.push_back({std::string(one.name), true});
  }
  const std::string manifest = folder() + "/manifest.json";
  if (!std::filesystem::exists(manifest)) return all;
  const nlohmann::json rows = nlohmann::json::parse(golden::read_text(manifest));
  for (const auto& [key, row] : rows.items()) {
    all.push_back({key.substr(key.find('/') + 1), false});
  }
  return all;
}

uint64_t mutations_of_each() {
  const uint64_t all = setting("TENON_MUTATIONS", 500);
  return (all + bases().size() - 1) / bases().size();
}

/// What became of a file.
enum class Outcome { Refused, Finite, NotFinite };

class Mutations : public testing::TestWithParam<Base> {
 protected:
  void SetUp() override {
    const TempFolder files;
    const Base& base = GetParam();
    if (base.is_random) {
      const std::string path = files.path("m.gguf");
      write_random_model(System::real(), path, "tiny-" + base.name, "q8_0");
      base_ = read_file(*open_model_file(path));
      return;
    }
    const std::string command =
        fmt::format("\"{}\" -B '{}/write_models.py' '{}' {} > '{}' 2>&1", TENON_PYTHON, folder(),
                    files.path("."), base.name, files.path("log"));
    if (std::system(command.c_str()) != 0) {
      GTEST_SKIP() << golden::read_text(files.path("log"));
    }
    base_ = read_file(*open_model_file(files.path(base.name + ".gguf")));
  }

  /// Runs what opens; throws what refuses it.
  Outcome run(const std::shared_ptr<const ByteSource>& source, Mutator& draws) const {
    const ModelSpec spec = read_model_spec(*open_model_file(source));
    const std::string backend = draws.below(4) == 0 ? "reference" : "cpu";
    constexpr uint32_t kSlices[] = {1, 7, 32, 80};
    const uint32_t slice = kSlices[draws.below(4)];
    if (spec.pooling || !spec.encoder_layers.empty()) return run_encoder(source, spec, backend);
    const auto system = std::make_shared<WeighingSystem>();
    ModelOptions options;
    options.backend = backend;
    options.threads = 1 + static_cast<uint32_t>(draws.below(2));
    options.cache_type = static_cast<CacheType>(draws.below(std::size(kCacheTypes)));
    options.slice = slice;
    options.embeddings = Switch::Off;  // of files that tell a pooling as well
    options.context = kContext;
    options.system = system;
    const auto model = load_source(source, std::move(options));
    const MemoryNeeds needs = model->memory(kContext);
    EngineOptions engine = unbounded_engine();
    engine.cache_bytes = needs.kv_bytes;
    const Outcome outcome = answer(Engine::create(model, engine));
    // Beside what is said: chunks while loading, or a session's logits and the tables of steps.
    const uint64_t chunks = uint64_t{2} * (4 << 20);
    const uint64_t said = needs.weights_bytes + needs.scratch_bytes + needs.kv_bytes;
    EXPECT_LE(system->peak(), said + chunks + (uint64_t{1} << 20));
    return outcome;
  }

  static Outcome answer(const std::shared_ptr<Engine>& engine) {
    const uint32_t vocab = engine->model().spec().vocab;
    Session session(engine, SessionOptions{kContext});
    try {
      session.append(make_tokens(45, 1, vocab));
      (void)session.logits();
      generate(session, 3);
      session.rewind(41);
      session.append(make_tokens(kContext - 41, 2, vocab));
      for (const float logit : session.logits()) EXPECT_TRUE(std::isfinite(logit));
    } catch (const Error& error) {
      if (error.code() != Code::State) throw;
      EXPECT_NE(std::string(error.what()).find("non-finite logits"), std::string::npos)
          << error.what();
      return Outcome::NotFinite;
    }
    EXPECT_LE(engine->metrics().kv_held_bytes, engine->metrics().kv_limit_bytes);
    return Outcome::Finite;
  }

  static Outcome run_encoder(const std::shared_ptr<const ByteSource>& source, const ModelSpec& spec,
                             const std::string& backend) {
    const auto file = open_model_file(source);
    ProgramOptions options;
    options.limits = {kContext, kContext};
    const auto device = golden::device_of(backend.c_str());
    const std::vector<Token> tokens = make_tokens(45, 1, spec.vocab);
    const BuiltProgram built = build_program(*file, spec, options);
    std::vector<float> values;
    if (spec.encoder_layers.empty()) {
      values = golden::ProgramRun(device, *file, built, kContext).run(tokens);
    } else {
      const BuiltProgram reader = build_encoder_program(*file, spec, options);
      golden::ProgramRun encoder(device, *file, reader, kContext);
      (void)encoder.run(tokens);
      golden::ProgramRun decoder(device, *file, built, kContext, &encoder);
      values = decoder.run(std::span(tokens).first(20));
    }
    return std::ranges::all_of(values, [](float value) { return std::isfinite(value); })
               ? Outcome::Finite
               : Outcome::NotFinite;
  }

  /// The sentence names the file and what of it is wrong, or the session that is too long for it.
  static void expect_sentence(const Error& error) {
    const std::string what = error.what();
    const Code code = error.code();
    if (code == Code::Limit && what.starts_with("session: context is ")) {
      EXPECT_NE(what.find("has a table of"), std::string::npos) << what;
      return;
    }
    EXPECT_TRUE(code == Code::Format || code == Code::Unsupported || code == Code::Limit)
        << code_name(code) << ": " << what;
    constexpr std::string_view kNames[] = {"key \"",          "tensor \"",       "tensors ",
                                           "architecture \"", "tokenizer.ggml.", "layer"};
    EXPECT_TRUE(std::ranges::any_of(kNames, [&](std::string_view name) {
      return what.find(name) != std::string::npos;
    })) << what;
    EXPECT_TRUE(what.starts_with("mutated.gguf: ")) << what;
  }

  File base_;
};

TEST_P(Mutations, AreRefusedOrRun) {
  const uint64_t seed = setting("TENON_MUTATION_SEED", 1);
  const auto most_seconds =
      static_cast<std::clock_t>(setting("TENON_MUTATION_SECONDS", kMostSeconds));
  const bool logs = setting("TENON_MUTATION_LOG", 0) != 0;
  const uint64_t only = setting("TENON_MUTATION_ONLY", UINT64_MAX);
  uint64_t counts[3] = {};
  for (uint64_t i = 0; i < mutations_of_each(); ++i) {
    if (only != UINT64_MAX && i != only) continue;
    const std::string name = fmt::format("{}/{}/{}", seed, GetParam().name, i);
    Mutator mutator(hash_bytes(std::as_bytes(std::span(name)), 0).low);
    File file = base_;
    mutator.mutate(file);
    SCOPED_TRACE(fmt::format("{}: {}", i, mutator.text()));
    if (logs) std::fprintf(stderr, "%s: %s\n", name.c_str(), mutator.text().c_str());
    const std::clock_t start = std::clock();
    Outcome outcome = Outcome::Refused;
    try {
      outcome = run(source_of(file), mutator);
    } catch (const Error& error) {
      expect_sentence(error);
      if (logs) std::fprintf(stderr, "  %s\n", error.what());
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    ++counts[static_cast<size_t>(outcome)];
    EXPECT_LE((std::clock() - start) / CLOCKS_PER_SEC, most_seconds);
  }
  RecordProperty("refused", std::to_string(counts[0]));
  RecordProperty("finite", std::to_string(counts[1]));
  RecordProperty("not_finite", std::to_string(counts[2]));
  if (logs) {
    std::fprintf(stderr, "%lu refused, %lu finite, %lu not finite\n", counts[0], counts[1],
                 counts[2]);
  }
}

TEST(FusedTensors, InBlocksThatDoNotPartAreRefusedByNameOfFileAndTensor) {
  const TempFolder files;
  write_random_model(System::real(), files.path("m.gguf"), "tiny-gpt2", "f32");
  File file = read_file(*open_model_file(files.path("m.gguf")));
  for (Tensor& tensor : file.tensors) {
    if (tensor.name != "blk.1.attn_qkv.bias") continue;
    tensor.format = Format::Q2_K;  // blocks of 256, and keys of 128 values
    tensor.bytes.resize(bytes_of(tensor.shape, tensor.format, kMostValues));
  }
  expect_error(Code::Unsupported,
               testing::StartsWith("mutated.gguf: tensor \"blk.1.attn_qkv.bias\" is [512] q2_K"),
               [&] { (void)load_source(source_of(file)); });
}

INSTANTIATE_TEST_SUITE_P(Of, Mutations, testing::ValuesIn(bases()), [](const auto& instance) {
  // Two architectures may differ in a sign alone.
  std::string name = instance.param.is_random ? "Random_" : "";
  for (const char c : instance.param.name) {
    name += c == '-' || c == '.' ? "__" : std::string(1, c);
  }
  return name;
});

}  // namespace
}  // namespace tenon::mutation
