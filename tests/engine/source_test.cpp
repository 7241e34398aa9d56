// Sessions of encoder-decoders: results, and source rows that survive forks, rewinds, lost blocks,
// preemption and neighbours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "arch/architectures.h"
#include "engine/snapshot.h"
#include "tests/base/expect_error.h"
#include "tests/base/temp_folder.h"
#include "tests/engine/delayed_model.h"
#include "tests/engine/random_tiny.h"
#include "tests/engine/tiny_engine.h"
#include "tests/golden/program_run.h"

namespace tenon {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr uint32_t kSourceVocab = 512;

class Sources : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<Session> open(const std::shared_ptr<Engine>& engine,
                                              std::span<const Token> source) const {
    auto session = std::make_unique<Session>(engine, SessionOptions{kContext});
    session->set_source(source);
    return session;
  }
  /// Logits after an answer's tokens, computed in a session alone.
  [[nodiscard]] std::vector<float> alone(std::span<const Token> source,
                                         std::span<const Token> text) const {
    const auto session = open(Engine::create(model_), source);
    return evaluate_all(*session, text);
  }
  [[nodiscard]] std::vector<Token> answer_alone(std::span<const Token> source) const {
    const auto session = open(Engine::create(model_), source);
    session->append(std::span(&first_, 1));
    return generate(*session, kAnswer);
  }
  /// An engine with room for exactly one full session.
  [[nodiscard]] std::shared_ptr<Engine> narrow_engine() const {
    EngineOptions options = unbounded_engine();
    options.cache_bytes = model_->memory(kContext).kv_bytes;
    return Engine::create(model_, options);
  }
  [[nodiscard]] static uint64_t source_blocks(const Engine& engine) {
    uint64_t used = 0;
    for (const auto& pool : engine.pools()) {
      if (pool->options().kind == TENON_CACHE_CROSS) used += pool->num_used();
    }
    return used;
  }
  static std::vector<std::byte> saved(Session& session) {
    std::vector<std::byte> bytes;
    session.save([&bytes](std::span<const std::byte> piece) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    });
    return bytes;
  }
  static std::vector<Token> drain(Engine& engine, Generation& generation) {
    std::vector<Token> tokens;
    for (;;) {
      (void)engine.wait(generation, UINT64_MAX);
      const Engine::Fetched fetched = engine.fetch(generation);
      if (fetched.failure) std::rethrow_exception(fetched.failure);
      if (fetched.has_token) tokens.push_back(fetched.token);
      if (!fetched.has_token && fetched.ended) return tokens;
    }
  }

  static constexpr uint32_t kContext = 64;
  static constexpr uint32_t kAnswer = 30;
  const std::shared_ptr<const Model> model_ = load_random_tiny("t5", 16);
  const std::vector<Token> source_ = make_tokens(40, 1, kSourceVocab);
  const std::vector<Token> other_ = make_tokens(50, 2, kSourceVocab);
  const std::vector<Token> text_ = make_tokens(40, 3, kSourceVocab);
  const Token first_ = 0;
};

TEST_F(Sources, GiveTheLogitsOfTheProgramsInSlices) {
  ProgramOptions options;
  options.limits = {64, 64};
  const ModelFile& file = model_->file();
  const ModelSpec spec = read_model_spec(file);
  const auto device = golden::device_of(std::string(model_->backend_name()).c_str());
  const BuiltProgram reader = build_encoder_program(file, spec, options);
  golden::ProgramRun encoder(device, file, reader, 64);
  (void)encoder.run(source_);
  const BuiltProgram writer = build_program(file, spec, options);
  golden::ProgramRun decoder(device, file, writer, 64, &encoder);
  EXPECT_TRUE(same_bits(alone(source_, text_), decoder.run(text_)));
  EXPECT_FALSE(same_bits(alone(other_, text_), alone(source_, text_)));
}

TEST_F(Sources, AreSharedByForksAndKeptOnTheWayBack) {
  const auto engine = Engine::create(model_);
  const auto session = open(engine, source_);
  const std::span<const Token> text(text_);
  (void)evaluate_all(*session, text.first(10));
  const uint64_t blocks = source_blocks(*engine);
  EXPECT_EQ(blocks, 2u);
  const auto fork = session->fork();
  const std::vector<Token> end = make_tokens(12, 4, kSourceVocab);
  std::vector<Token> with_end(text_.begin(), text_.begin() + 10);
  with_end.insert(with_end.end(), end.begin(), end.end());
  const std::vector<float> expected = alone(source_, with_end);
  const std::vector<float> rows = evaluate_all(*fork, end);
  EXPECT_TRUE(same_bits(rows, std::span(expected).subspan(10 * kSourceVocab)));
  session->rewind(0);
  EXPECT_EQ(source_blocks(*engine), blocks);
  EXPECT_TRUE(same_bits(evaluate_all(*session, text_), alone(source_, text_)));
  EXPECT_EQ(source_blocks(*engine), blocks);
  session->rewind(0);
  session->set_source(other_);
  EXPECT_TRUE(same_bits(evaluate_all(*session, text_), alone(other_, text_)));
}

TEST_F(Sources, AreReadAgainWhenOthersTookTheirBlocks) {
  const auto engine = narrow_engine();
  const std::vector<float> expected = alone(source_, text_);
  const auto one = open(engine, source_);
  const auto two = open(engine, other_);
  const std::span<const Token> text(text_);
  std::vector<float> rows = evaluate_all(*one, text.first(33));
  EXPECT_TRUE(same_bits(evaluate_all(*two, text_), alone(other_, text_)));
  const std::vector<float> rest = evaluate_all(*one, text.subspan(33));
  rows.insert(rows.end(), rest.begin(), rest.end());
  EXPECT_TRUE(same_bits(rows, expected));
  EXPECT_GT(engine->metrics().idle_blocks_taken_total, 0u);
}

TEST_F(Sources, DifferSideBySideInAStep) {
  const auto engine = Engine::create(model_);
  const auto one = open(engine, source_);
  const auto two = open(engine, other_);
  one->append(std::span(&first_, 1));
  two->append(std::span(&first_, 1));
  const auto first = one->submit(greedy_sampler(), limits(kAnswer));
  const auto second = two->submit(greedy_sampler(), limits(kAnswer));
  EXPECT_THAT(drain(*engine, *first), ElementsAreArray(answer_alone(source_)));
  EXPECT_THAT(drain(*engine, *second), ElementsAreArray(answer_alone(other_)));
}

TEST_F(Sources, OfPreemptedRequestsAreReadAgain) {
  const auto engine = narrow_engine();
  const auto one = open(engine, source_);
  const auto two = open(engine, other_);
  one->append(std::span(&first_, 1));
  two->append(std::span(&first_, 1));
  const auto first = one->submit(greedy_sampler(), limits(kAnswer, 0));
  for (int i = 0; i < 5; ++i) (void)engine->step();
  const auto second = two->submit(greedy_sampler(), limits(kAnswer, 1));
  EXPECT_THAT(drain(*engine, *second), ElementsAreArray(answer_alone(other_)));
  EXPECT_THAT(drain(*engine, *first), ElementsAreArray(answer_alone(source_)));
}

TEST_F(Sources, AreRefusedWhereTheyDoNotFit) {
  const auto engine = Engine::create(model_);
  Session session(engine, {kContext});
  expect_error(Code::State, HasSubstr("there is none yet"), [&] { session.append(text_); });
  expect_error(Code::Argument, HasSubstr("without tokens"), [&] { session.set_source({}); });
  const std::vector<Token> unknown = {1, 512};
  expect_error(Code::Argument, HasSubstr("token 512"), [&] { session.set_source(unknown); });
  const uint32_t most = model_->find(ProgramRole::Encoder)->program.view().max_tokens;
  expect_error(Code::Limit, HasSubstr("the most that the encoder reads"),
               [&] { session.set_source(make_tokens(most + 1, 1, kSourceVocab)); });
  session.set_source(source_);
  session.append(text_);
  expect_error(Code::State, HasSubstr("a source comes before the text"),
               [&] { session.set_source(other_); });
  Session plain(tiny_engine());
  expect_error(Code::State, HasSubstr("has no encoder"), [&] { plain.set_source(text_); });
}

TEST_F(Sources, AreAnsweredFromTheTokenThatTheFileTells) {
  const TempFolder folder;
  write_random_model(System::real(), folder.path("m"), "tiny-t5", "f32");
  ModelOptions options;
  options.threads = 1;
  options.context = kContext;
  options.overrides.push_back("t5.decoder_start_token_id=int:5");
  Session session(Engine::create(Model::load(folder.path("m"), std::move(options))));
  session.set_source(source_);
  EXPECT_THAT(session.tokens(), ElementsAreArray({5}));
}

/// The encoder writes to its decoder's cache: both need one device, which may be named.
TEST_F(Sources, AreReadOnTheOneDeviceThatIsNamed) {
  const TempFolder folder;
  write_random_model(System::real(), folder.path("m"), "tiny-t5", "f32");
  const auto answer = [&](const auto& set) {
    ModelOptions options;
    options.threads = 1;
    options.context = kContext;
    set(options);
    Session session(Engine::create(Model::load(folder.path("m"), std::move(options))));
    session.set_source(source_);
    session.append(std::span(&first_, 1));
    return generate(session, 5);
  };
  const std::vector<Token> expected = answer([](ModelOptions& o) { o.backend = "cpu"; });
  EXPECT_THAT(answer([](ModelOptions& o) { o.devices = "cpu"; }), ElementsAreArray(expected));
  expect_error(Code::Unsupported, HasSubstr("which run on one device"),
               [&] { (void)answer([](ModelOptions& o) { o.devices = "cpu=1"; }); });
  expect_error(Code::Unsupported, HasSubstr("which run on one device"),
               [&] { (void)answer([](ModelOptions& o) { o.gpu_layers = 0; }); });
}

TEST_F(Sources, AreSavedWithTheText) {
  const auto engine = Engine::create(model_);
  const auto session = open(engine, source_);
  const std::span<const Token> text(text_);
  (void)evaluate_all(*session, text.first(35));
  const std::vector<std::byte> bytes = saved(*session);
  EXPECT_EQ(bytes.size(), session->snapshot_bytes());
  Session restored(Engine::create(model_), {kContext});
  restored.restore(*ByteSource::from_memory(bytes, "saved"));
  EXPECT_EQ(restored.position(), 35u);
  const std::vector<float> expected = alone(source_, text_);
  EXPECT_TRUE(same_bits(evaluate_all(restored, text.subspan(35)),
                        std::span(expected).subspan(35 * kSourceVocab)));
  restored.rewind(0);
  restored.append(text_);
  EXPECT_TRUE(same_bits(last_logits(restored), std::span(expected).last(kSourceVocab)));
}

TEST_F(Sources, AreRestoredInAnotherProcess) {
  const TempFolder folder;
  const std::string path = folder.path("saved");
  const pid_t child = ::fork();
  if (child == 0) {  // with its own model and engine
    Session session(Engine::create(load_random_tiny("t5", 16)), {kContext});
    session.set_source(source_);
    session.append(std::span(text_).first(35));
    session.prefill();
    const std::vector<std::byte> bytes = saved(session);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  Session restored(Engine::create(model_), {kContext});
  restored.restore(*ByteSource::from_path(path, System::real()));
  ASSERT_EQ(restored.position(), 35u);
  restored.append(std::span(text_).subspan(35));
  const std::vector<float> expected = alone(source_, text_);
  EXPECT_TRUE(same_bits(last_logits(restored), std::span(expected).last(kSourceVocab)));
  EXPECT_LE(restored.stats().prefill_tokens, 40u - 32u) << "the block is there";
}

TEST_F(Sources, AreNotRestoredFromWhatIsNotWhole) {
  const auto engine = Engine::create(model_);
  const auto session = open(engine, source_);
  (void)evaluate_all(*session, std::span(text_).first(35));
  const std::vector<std::byte> bytes = saved(*session);
  const auto refused = [&](std::span<const std::byte> changed, const char* why) {
    Session other(engine, {kContext});
    expect_error(Code::Format, HasSubstr(why),
                 [&] { other.restore(*ByteSource::from_memory(changed, "saved")); });
    EXPECT_EQ(other.position(), 0u);
    other.set_source(source_);  // unchanged
  };
  for (size_t size = 0; size < bytes.size(); size += size < 700 ? 13 : 997) {
    refused(std::span(bytes).first(size), "saved");
  }
  const auto changed = [&](size_t offset, uint64_t value, size_t size) {
    std::vector<std::byte> other = bytes;
    std::memcpy(other.data() + offset, &value, size);
    return other;
  };
  refused(changed(8, 2, 4), "saved");  // the source's tokens would count as text
  refused(changed(16, 1, 8), "another model");
  uint32_t cache_text = 0;
  std::memcpy(&cache_text, bytes.data() + 60, sizeof cache_text);
  const size_t source = SnapshotHeader::kFixedBytes + cache_text + sizeof(SnapshotHeader::seed);
  refused(changed(source, UINT64_MAX / 8, 8), "saved");
  refused(changed(source, 0, 8), "saved");
  refused(changed(source, 5000, 8), "saved");
  refused(changed(source + 8, kSourceVocab, 4), "outside 0..511");
  refused(changed(source + 8, 1, 4), "saved");  // the checksum
  Session plain(tiny_engine());
  expect_error(Code::Format, HasSubstr("another model"),
               [&] { plain.restore(*ByteSource::from_memory(bytes, "saved")); });
}

TEST_F(Sources, AreReadOnDevicesWithAQueue) {
  std::vector<std::vector<Token>> answers;
  for (const uint32_t steps : {1u, 2u}) {
    const auto engine = Engine::create(load_delayed_random("t5", {.steps = steps}));
    const auto one = open(engine, source_);
    const auto two = open(engine, other_);
    one->append(std::span(&first_, 1));
    two->append(std::span(&first_, 1));
    const auto first = one->submit(greedy_sampler(), limits(kAnswer));
    const auto second = two->submit(greedy_sampler(), limits(kAnswer));
    answers.push_back(drain(*engine, *second));
    answers.push_back(drain(*engine, *first));
    EXPECT_EQ(engine->metrics().steps_ahead_total, 0u);
  }
  EXPECT_EQ(answers[0], answers[2]);
  EXPECT_EQ(answers[1], answers[3]);
  EXPECT_NE(answers[0], answers[1]);
}

TEST_F(Sources, TakeTheirShareOfAHardBudget) {
  EngineOptions options = unbounded_engine();
  options.cache_bytes = model_->memory(32).kv_bytes / 2;
  const auto engine = Engine::create(model_, options);
  const auto session = open(engine, make_tokens(200, 1, kSourceVocab));
  expect_error(Code::NoMemory, HasSubstr("KV cache"), [&] { (void)evaluate_all(*session, text_); });
}

}  // namespace
}  // namespace tenon
