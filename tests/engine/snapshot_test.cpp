// Saved and restored sessions continue bit by bit; damaged and foreign snapshots are refused.
#include "engine/snapshot.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "tests/base/expect_error.h"
#include "tests/base/faulty_system.h"
#include "tests/base/temp_folder.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Bytes = std::vector<std::byte>;

Bytes save(Session& session) {
  Bytes out;
  session.save(
      [&out](std::span<const std::byte> part) { out.insert(out.end(), part.begin(), part.end()); });
  EXPECT_LE(out.size(), session.snapshot_bytes());
  return out;
}

void restore(Session& session, std::span<const std::byte> bytes, bool text_only = false) {
  session.restore(*ByteSource::from_memory(bytes, "snapshot"), text_only);
}

/// Recomputes the checksum at the end.
Bytes mended(Bytes bytes) {
  const Hash128 sum = hash_bytes(std::span(bytes).first(bytes.size() - 16));
  std::memcpy(bytes.data() + bytes.size() - 16, &sum.low, 8);
  std::memcpy(bytes.data() + bytes.size() - 8, &sum.high, 8);
  return bytes;
}

/// One layer, so that a snapshot is small.
TinyModel shallow(uint32_t seed = 1) {
  TinyModel tiny;
  tiny.layers = 1;
  tiny.formats = {Format::Q8_0, Format::F32};
  tiny.seed = seed;
  return tiny;
}

class Snapshots : public testing::Test {
 protected:
  std::unique_ptr<Session> original(const std::shared_ptr<Engine>& engine) const {
    auto session = std::make_unique<Session>(engine, SessionOptions{128});
    session->append(make_tokens(70));
    generate(*session, 4);
    return session;
  }
  [[nodiscard]] uint64_t block_bytes() const { return engine_->pools()[0]->block_bytes(); }
  std::shared_ptr<Engine> with_room(uint64_t blocks) const {
    EngineOptions options = unbounded_engine();
    options.cache_bytes = blocks * engine_->pools()[0]->block_bytes();
    return Engine::create(model_, options);
  }

  const std::shared_ptr<const Model> model_ = load_tiny(shallow());
  const std::shared_ptr<Engine> engine_ = Engine::create(model_);
  const Bytes saved_ = save(*original(engine_));
};

TEST_F(Snapshots, GoOnBitByBit) {
  for (const auto& engine :
       {engine_, Engine::create(model_), Engine::create(load_tiny(shallow()))}) {
    const auto copy = original(engine_);
    Session restored(engine, SessionOptions{128});
    restored.append(make_tokens(5, 3));  // to be replaced
    restore(restored, saved_);
    EXPECT_THAT(restored.tokens(), testing::ElementsAreArray(copy->tokens()));
    EXPECT_TRUE(same_bits(restored.logits(), copy->logits()));
    EXPECT_EQ(restored.stats().prefill_tokens, 74u - 64u) << "full blocks are not computed again";
    EXPECT_EQ(generate(restored, 20), generate(*copy, 20));
    EXPECT_EQ(save(restored), save(*copy));
  }
}

TEST_F(Snapshots, OfTextsOfAllLengthsAreWhole) {
  for (const uint32_t length : {0u, 1u, 31u, 32u, 33u, 64u}) {
    Session session(engine_);
    session.append(make_tokens(length));
    const Bytes queued = save(session);
    if (length > 0) session.prefill();
    for (const Bytes& saved : {queued, save(session)}) {
      Session restored(engine_);
      restore(restored, saved);
      EXPECT_EQ(restored.position(), length);
      if (length == 0) continue;
      EXPECT_TRUE(same_bits(restored.logits(), session.logits())) << length;
    }
  }
}

TEST_F(Snapshots, CutAnywhereAreRefused) {
  Session session(engine_, SessionOptions{128});
  session.append(make_tokens(9));
  for (size_t size = 0; size < saved_.size(); size += size < 1200 ? 1 : 499) {
    expect_error(Code::Format, HasSubstr("snapshot"),
                 [&] { restore(session, std::span(saved_).first(size)); });
  }
  const uint64_t block = block_bytes();
  for (const size_t cut : {block, 2 * block, size_t{1}, size_t{16}}) {
    expect_error(Code::Format, HasSubstr("snapshot"),
                 [&] { restore(session, std::span(saved_).first(saved_.size() - cut)); });
  }
  EXPECT_EQ(session.position(), 9u) << "as it was";
  EXPECT_EQ(engine_->pools()[0]->num_used(), 0u);
}

TEST_F(Snapshots, WithABitFlippedAreRefused) {
  Session session(engine_, SessionOptions{128});
  Bytes damaged = saved_;
  for (size_t at = 0; at < damaged.size(); at += at < 500 || at + 40 > damaged.size() ? 1 : 97) {
    for (const uint32_t bit : {0u, 7u}) {
      damaged[at] ^= std::byte{1} << bit;
      expect_error(Code::Format, HasSubstr("snapshot"), [&] { restore(session, damaged); });
      damaged[at] ^= std::byte{1} << bit;
    }
  }
  EXPECT_EQ(session.position(), 0u);
}

TEST_F(Snapshots, WithNumbersThatContradictEachOtherAreRefused) {
  Session session(engine_, SessionOptions{128});
  const auto with = [&](size_t at, uint64_t value, size_t bytes) {
    Bytes changed = saved_;
    std::memcpy(changed.data() + at, &value, bytes);
    return mended(std::move(changed));
  };
  const uint64_t huge = UINT64_MAX / 4 + 1;
  for (const uint64_t tokens : {huge, UINT64_MAX, uint64_t{0}, uint64_t{73}, uint64_t{31}}) {
    EXPECT_THROW(restore(session, with(32, tokens, 8)), Error) << tokens;
  }
  expect_error(Code::Format, HasSubstr("75 of 74"), [&] { restore(session, with(40, 75, 8)); });
  EXPECT_THROW(restore(session, with(48, 0, 8)), Error);
  EXPECT_THROW(restore(session, with(48, UINT64_MAX, 8)), Error);
  EXPECT_THROW(restore(session, with(48, UINT64_MAX, 8), true), Error);
  EXPECT_THROW(restore(session, with(56, 0, 4), true), Error);
  EXPECT_THROW(restore(session, with(60, UINT32_MAX, 4)), Error);
  expect_error(Code::Format, HasSubstr("version 1"), [&] { restore(session, with(8, 1, 4)); });
  expect_error(Code::Format, HasSubstr("order of bytes"),
               [&] { restore(session, with(12, 0x04030201, 4)); });
  const size_t seed = 64 + snapshot_identity(*model_).cache.size();
  const size_t first_token = seed + 16;
  expect_error(Code::Format, HasSubstr("seed is -2"),
               [&] { restore(session, with(seed, static_cast<uint64_t>(-2), 8)); });
  for (const int32_t token : {-1, 300, INT32_MIN}) {
    expect_error(Code::Format, HasSubstr(std::to_string(token)),
                 [&] { restore(session, with(first_token, static_cast<uint32_t>(token), 4)); });
  }
  EXPECT_EQ(session.position(), 0u);
}

TEST_F(Snapshots, OfOlderVersionsAreReadWithoutASeed) {
  const auto seed = static_cast<std::ptrdiff_t>(64 + snapshot_identity(*model_).cache.size());
  Bytes older = saved_;
  older.erase(older.begin() + seed, older.begin() + seed + 16);
  const uint32_t version = 2;
  std::memcpy(older.data() + 8, &version, sizeof version);
  Session session(engine_, SessionOptions{128});
  restore(session, mended(std::move(older)));
  EXPECT_EQ(session.position(), 74u);
  EXPECT_FALSE(session.seed().has_value());
}

TEST_F(Snapshots, NameTheModelThatWasLoadedWhateverBecameOfItsFile) {
  const TempFolder folder;
  const std::vector<std::byte> before = shallow(1).file();
  const std::vector<std::byte> after = shallow(2).file();
  ASSERT_EQ(before.size(), after.size());
  const std::string path = folder.write("model.gguf", before);
  struct stat times {};
  ASSERT_EQ(::stat(path.c_str(), &times), 0);
  const std::shared_ptr<const Model> loaded = Model::load(path);
  // Overwrites in place and restores the times: the file's metadata shows no change.
  const int fd = ::open(path.c_str(), O_WRONLY);
  ASSERT_EQ(::pwrite(fd, after.data(), after.size(), 0), static_cast<ssize_t>(after.size()));
  ::close(fd);
  const timespec put_back[] = {times.st_atim, times.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), put_back, 0), 0);

  Session session(Engine::create(loaded));
  session.append(make_tokens(40));
  const Bytes saved = save(session);
  Session other(Engine::create(Model::load(path)));
  expect_error(Code::Format, HasSubstr("another model"), [&] { restore(other, saved); });
  Session same(tiny_engine(shallow(1)));
  restore(same, saved);
  EXPECT_EQ(same.position(), session.position());
}

TEST_F(Snapshots, OfOtherModelsAreRefused) {
  Session other(tiny_engine(shallow(2)));
  expect_error(Code::Format, HasSubstr("another model"), [&] { restore(other, saved_); });
  ModelOptions options;
  options.overrides.push_back("llama.rope.freq_base=float:20000");
  Session turned(tiny_engine(shallow(), std::move(options)));
  expect_error(Code::Format, HasSubstr("another model"), [&] { restore(turned, saved_, true); });
}

TEST_F(Snapshots, OfOtherCachesAreRefusedButForTheirText) {
  ModelOptions options;
  options.cache_type = CacheType::F32;
  const auto engine = tiny_engine(shallow(), std::move(options));
  Session in_f32(engine, SessionOptions{128});
  expect_error(Code::Format, AllOf(HasSubstr("f16"), HasSubstr("f32")),
               [&] { restore(in_f32, saved_); });
  EXPECT_EQ(in_f32.position(), 0u);
  restore(in_f32, saved_, true);
  Session plain(engine, SessionOptions{128});
  plain.append(in_f32.tokens());
  GenerationOptions two;
  two.max_tokens = 2;
  two.ends.ignore_end = true;
  const auto generation = in_f32.submit(greedy_sampler(), two);
  while (!generation->ended) engine->step();
  const ReuseReport report = engine->report(*generation);
  EXPECT_EQ(report.reused_tokens, 0u);
  EXPECT_EQ(report.miss.cause, PrefixMiss::Cause::CacheType);
  EXPECT_EQ(report.miss.position, 0u);
  EXPECT_EQ(generation->tokens, generate(plain, 2));
}

TEST_F(Snapshots, OfAnotherArithmeticAreRefused) {
  ModelOptions options;
  options.backend_options = {{"bf16_activations", "f32"}};
  const auto model = load_tiny(shallow(), std::move(options));
  if (model->device_description() == model_->device_description()) {
    GTEST_SKIP() << "activations of this backend have one arithmetic";
  }
  Session session(Engine::create(model), SessionOptions{128});
  expect_error(
      Code::Format,
      AllOf(HasSubstr(model_->device_description()), HasSubstr(model->device_description())),
      [&] { restore(session, saved_); });
}

TEST_F(Snapshots, NeedTheContext) {
  Session small(engine_, SessionOptions{40});
  expect_error(Code::Limit, HasSubstr("74 > context 40"), [&] { restore(small, saved_); });
}

TEST_F(Snapshots, ComputeAgainWhatHasNoRoom) {
  const auto small = with_room(3);
  const auto idle = original(small);
  Session restored(small, SessionOptions{128});
  restore(restored, saved_);
  EXPECT_LE(small->metrics().kv_held_bytes, small->metrics().kv_limit_bytes);
  EXPECT_EQ(generate(restored, 5), generate(*idle, 5));
  Session hopeless(with_room(1), SessionOptions{128});
  restore(hopeless, saved_);
  expect_error(Code::NoMemory, HasSubstr("KV cache"), [&] { hopeless.prefill(); });
}

TEST_F(Snapshots, AreCompleteWhenBlocksAreTakenMeanwhile) {
  const auto small = with_room(3);
  const auto session = original(small);
  Bytes saved;
  session->save([&](std::span<const std::byte> part) {
    saved.insert(saved.end(), part.begin(), part.end());
    if (part.size() != block_bytes()) return;
    Session other(small, SessionOptions{128});
    other.append(make_tokens(80, 5));
    other.prefill();
  });
  EXPECT_EQ(saved.size(), saved_.size() - block_bytes());
  Session restored(engine_, SessionOptions{128});
  restore(restored, saved);
  EXPECT_EQ(generate(restored, 5), generate(*session, 5));
}

TEST_F(Snapshots, DoNotReachOtherSessions) {
  EngineOptions sharing = unbounded_engine();
  sharing.prefix_cache = true;
  const auto engine = Engine::create(model_, sharing);
  Bytes forged = saved_;  // well formed, with fabricated values
  const size_t blocks = forged.size() - 16 - 2 * block_bytes();
  std::fill(forged.begin() + static_cast<ptrdiff_t>(blocks), forged.end() - 16, std::byte{0});
  const auto source = original(engine_);
  const std::vector<Token> text(source->tokens().begin(), source->tokens().end());
  const auto ask = [&](Session& session) {
    session.append(make_tokens(50, 8));
    return last_logits(session);
  };
  Session honest(engine_);
  honest.append(text);
  const std::vector<float> expected = ask(honest);
  Session known(engine);  // enters the prefix into the index
  known.append(text);
  known.prefill();
  Session bad(engine);
  restore(bad, mended(forged));
  EXPECT_FALSE(same_bits(ask(bad), expected));
  const auto fork = bad.fork();
  fork->append(make_tokens(40, 9));
  fork->prefill();
  Session good(engine);
  good.append(text);
  EXPECT_TRUE(same_bits(ask(good), expected));
}

TEST_F(Snapshots, KeepACharacterThatIsNotWhole) {
  // Tokens are 3 + byte: "\xc3\xa9" is one character of two tokens.
  EndRules rules;
  Sampler sampler = greedy_sampler();
  Session session(engine_);
  session.append(make_tokens(3));
  sampler.set_logit_bias(3 + 0xc3, 1000);
  EXPECT_EQ(session.next_piece(sampler, rules).text, "");
  Session restored(engine_);
  restore(restored, save(session));
  sampler.set_logit_bias(3 + 0xc3, 0);
  sampler.set_logit_bias(3 + 0xa9, 1000);
  EXPECT_EQ(restored.next_piece(sampler, rules).text, "\xc3\xa9");
}

// ---- Files --------------------------------------------------------------------------------------

TEST(SnapshotFiles, AnyCallOfTheSystemMayFailAndTheOldFileStays) {
  const TempFolder folder;
  const std::string path = folder.path("session");
  const auto load = [](const std::shared_ptr<System>& system) {
    ModelOptions options;
    options.system = system;
    options.threads = 1;
    return Engine::create(load_tiny(shallow(), std::move(options)));
  };
  const auto write = [&](Session& session, const std::shared_ptr<System>& system) {
    AtomicFile file(system, path);
    session.save([&](std::span<const std::byte> part) { file.write(part); });
    file.commit();
  };
  const std::vector<Token> old_text = make_tokens(40);
  const std::vector<Token> new_text = make_tokens(70, 2);
  Session old(load(System::real()));
  old.append(old_text);
  old.prefill();
  const auto check = [&](std::span<const Token> text) {
    Session session(old.engine());
    session.restore(*ByteSource::from_path(path, System::real()));
    EXPECT_THAT(session.tokens(), testing::ElementsAreArray(text));
  };
  uint64_t first = 0;
  uint64_t failures = 0;
  for (uint64_t n = 0;; ++n) {
    write(old, System::real());
    auto system = std::make_shared<FaultySystem>(first == 0 ? FaultySystem::kNever : first + n - 1);
    bool saved = false;
    bool restored = false;
    {
      Session session(load(system));
      session.append(new_text);
      session.prefill();
      if (first == 0) first = system->num_calls();
      try {
        write(session, system);
        saved = true;
        Session other(session.engine());
        other.restore(*ByteSource::from_path(path, system));
        restored = true;
        EXPECT_EQ(other.position(), 70u);
      } catch (const Error& error) {
        ++failures;
        EXPECT_TRUE(error.code() == Code::Io || error.code() == Code::NoMemory) << error.what();
      }
      if (system->failed()) {
        EXPECT_TRUE(same_bits(session.logits(), last_logits(*session.fork())));
      }
    }
    EXPECT_TRUE(system->all_released()) << n;
    check(saved ? std::span(new_text) : std::span(old_text));
    if (n > 0 && !system->failed()) {
      EXPECT_TRUE(restored);
      break;
    }
    ASSERT_LT(n, 200u);
  }
  EXPECT_GT(failures, 10u);
}

}  // namespace
}  // namespace tenon
