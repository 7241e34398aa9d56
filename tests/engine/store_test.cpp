// Prefixes that survive their engine: the answers are those without a store, whatever the store
// does, and a prompt that was computed once is not computed again.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/error.h"
#include "kv/folder_store.h"
#include "tests/base/temp_folder.h"
#include "tests/engine/random_tiny.h"
#include "tests/engine/tiny_engine.h"
#include "tests/engine/tiny_kinds.h"

#ifndef _WIN32
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace tenon {
namespace {

namespace fs = std::filesystem;

/// What an answer is made of, and how it was made.
struct Told {
  std::vector<float> logits;  // after the prompt
  std::vector<Token> tokens;
  bool operator==(const Told&) const = default;
};

EngineOptions shared_engine() {
  EngineOptions options;
  options.cache_bytes = uint64_t{64} << 20;
  options.state_checkpoint_tokens = 64;
  return options;
}

Told tell(const std::shared_ptr<Engine>& engine, std::span<const Token> prompt,
          const std::string& salt = "", uint64_t* computed = nullptr) {
  Session session(engine, SessionOptions{.context = 256, .salt = salt});
  session.append(prompt);
  session.prefill();
  if (computed != nullptr) *computed = session.stats().prefill_tokens;
  Told told{last_logits(session), generate(session, 12)};
  return told;
}

/// A store in memory that misbehaves on demand.
class HostileStore : public BlockStore {
 public:
  enum class Way { Good, Forgets, Garbage, WrongSizes, OthersRecords, Cut, Refuses };

  [[nodiscard]] Hash128 secret() const override { return {1, 2}; }
  std::optional<uint64_t> find(Hash128 key) noexcept override {
    const std::scoped_lock lock(mutex);
    ++num_finds;
    const auto found = records.find(key);
    if (found == records.end()) return std::nullopt;
    return way == Way::WrongSizes ? 7u : found->second.size();
  }
  bool read(Hash128 key, std::span<std::byte> out) noexcept override {
    if (gate != nullptr) gate->get();
    const std::scoped_lock lock(mutex);
    ++num_reads;
    const auto found = records.find(key);
    if (found == records.end() || way == Way::Forgets) return false;
    const std::vector<std::byte>& record =
        way == Way::OthersRecords ? records.begin()->second : found->second;
    std::copy_n(record.begin(), std::min(record.size(), out.size()), out.begin());
    if (way == Way::Garbage) std::ranges::fill(out, std::byte{0x5a});
    if (way == Way::Cut) std::ranges::fill(out.last(out.size() / 2), std::byte{0});
    return true;
  }
  bool write(Hash128 key, Hash128, std::span<const std::byte> record) noexcept override {
    const std::scoped_lock lock(mutex);
    if (way == Way::Refuses) return false;
    records[key].assign(record.begin(), record.end());
    return true;
  }
  void remove(Hash128 key) noexcept override {
    const std::scoped_lock lock(mutex);
    ++num_removed;
    records.erase(key);
  }

  std::mutex mutex;
  std::atomic<Way> way{Way::Good};
  std::map<Hash128, std::vector<std::byte>> records;
  std::shared_future<void>* gate = nullptr;  // reads wait for it
  std::atomic<uint64_t> num_finds = 0;
  std::atomic<uint64_t> num_reads = 0;
  std::atomic<uint64_t> num_removed = 0;
};

/// The host's object outlives the engine that calls it.
std::shared_ptr<Engine> engine_over(const std::shared_ptr<const Model>& model,
                                    const std::shared_ptr<BlockStore>& store,
                                    EngineOptions options = shared_engine()) {
  auto engine = Engine::create(model, options);
  engine->set_store(store);
  return engine;
}

std::shared_ptr<Engine> engine_in(const std::shared_ptr<const Model>& model,
                                  const std::string& folder,
                                  EngineOptions options = shared_engine()) {
  options.store = folder;
  return Engine::create(model, options);
}

uint64_t hits(const std::shared_ptr<Engine>& engine) { return engine->metrics().store_hits_total; }

/// Tries again, for a minute, what a busy machine may do too late: prompts wait for the store only as
/// long as computing takes.
void until(const std::function<bool()>& succeeds) {
  const auto latest = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!succeeds() && std::chrono::steady_clock::now() < latest) {
  }
}

// ---- Restarts -----------------------------------------------------------------------------------

struct StoreCase {
  std::string name;
  std::function<std::shared_ptr<const Model>()> load;
  uint64_t most_computed;  ///< of 150 tokens after the restart
};

class StoreOfKind : public testing::TestWithParam<StoreCase> {};

TEST_P(StoreOfKind, GivesTheSameAnswerAfterARestart) {
  const auto model = GetParam().load();
  const TempFolder folder;
  const std::vector<Token> prompt = make_tokens(150, 1, 200);
  const Told cold = tell(Engine::create(model), prompt);
  uint64_t computed = 0;
  {
    const auto engine = engine_in(model, folder.path("store"));
    EXPECT_EQ(tell(engine, prompt, "", &computed), cold);
    EXPECT_EQ(computed, prompt.size());
    EXPECT_EQ(hits(engine), 0u);
  }
  const auto engine = engine_in(model, folder.path("store"));
  EXPECT_EQ(tell(engine, prompt, "", &computed), cold);
  EXPECT_LE(computed, GetParam().most_computed);
  EXPECT_GT(hits(engine), 0u);
  EXPECT_GT(engine->metrics().store_read_bytes_total, 0u);

  // A longer text begins with it, another one does not.
  std::vector<Token> longer = prompt;
  for (const Token token : make_tokens(40, 9, 200)) longer.push_back(token);
  const auto third = engine_in(model, folder.path("store"));
  EXPECT_EQ(tell(third, longer, "", &computed), tell(Engine::create(model), longer));
  EXPECT_LE(computed, GetParam().most_computed + 40);
  const std::vector<Token> other = make_tokens(150, 5, 200);
  EXPECT_EQ(tell(third, other, "", &computed), tell(Engine::create(model), other));
  EXPECT_EQ(computed, other.size());
}

StoreCase random_case(const std::string& architecture, uint64_t most_computed) {
  std::string name = architecture;
  std::erase(name, '-');
  return {name, [architecture] { return load_random_tiny(architecture, 32); }, most_computed};
}

INSTANTIATE_TEST_SUITE_P(Models, StoreOfKind,
                         testing::Values(StoreCase{"full", [] { return load_tiny(); }, 22},
                                         StoreCase{"window",
                                                   [] { return load_tiny(tiny_window()); }, 22},
                                         StoreCase{"int8",
                                                   [] {
                                                     ModelOptions options;
                                                     options.cache_type = CacheType::Int8;
                                                     return load_tiny({}, options);
                                                   },
                                                   22},
                                         random_case("gemma3", 22), random_case("deepseek2", 22),
                                         random_case("mamba2", 22), random_case("qwen35", 22),
                                         random_case("rwkv7", 22), random_case("jamba", 22)),
                         [](const auto& param) { return param.param.name; });

TEST(Store, ContinuesAConversation) {
  const auto model = load_tiny();
  const TempFolder folder;
  std::vector<Token> text = make_tokens(70);
  {
    const auto engine = engine_in(model, folder.path("store"));
    Session session(engine);
    session.append(text);
    for (const Token token : generate(session, 60)) text.push_back(token);
  }
  for (const Token token : make_tokens(10, 3)) text.push_back(token);
  uint64_t computed = 0;
  const Told warm = tell(engine_in(model, folder.path("store")), text, "", &computed);
  EXPECT_LE(computed, 10u + 32u) << "the answer's blocks are stored, too";
  EXPECT_EQ(warm, tell(Engine::create(model), text));
}

TEST(Store, ServesRequests) {
  const auto model = load_tiny();
  const TempFolder folder;
  const std::vector<Token> prompt = make_tokens(150);
  const Told cold = tell(engine_in(model, folder.path("store")), prompt);
  const auto engine = engine_in(model, folder.path("store"));
  std::thread serving([&] { engine->serve(); });
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::shared_ptr<Generation>> asked;
  for (int i = 0; i < 8; ++i) {
    sessions.push_back(std::make_unique<Session>(engine));
    sessions.back()->append(prompt);
    asked.push_back(sessions.back()->submit(greedy_sampler(), limits(12)));
  }
  for (const auto& generation : asked) {
    std::vector<Token> tokens;
    for (;;) {
      ASSERT_TRUE(engine->wait(*generation, UINT64_MAX));
      const Engine::Fetched fetched = engine->fetch(*generation);
      if (fetched.ended) break;
      tokens.push_back(fetched.token);
    }
    EXPECT_EQ(tokens, cold.tokens);
    EXPECT_EQ(engine->report(*generation).reused_tokens, 128u);
  }
  engine->stop();
  serving.join();
  EXPECT_EQ(hits(engine), 4u) << "the blocks were read once for all";
}

// ---- What is no hit -----------------------------------------------------------------------------

TEST(Store, HitsOnlyUnderTheSameSalt) {
  const auto model = load_tiny();
  const TempFolder folder;
  const std::vector<Token> prompt = make_tokens(150);
  tell(engine_in(model, folder.path("store")), prompt, "one");
  uint64_t computed = 0;
  for (const std::string salt : {"two", "", "One", "one "}) {
    const auto engine = engine_in(model, folder.path("store"));
    Session session(engine, SessionOptions{.salt = salt});
    session.append(prompt);
    session.prefill();
    EXPECT_EQ(session.stats().prefill_tokens, prompt.size()) << salt;
    EXPECT_EQ(hits(engine), 0u);
  }
  tell(engine_in(model, folder.path("store")), prompt, "one", &computed);
  EXPECT_LE(computed, 22u);
}

TEST(Store, OtherModelsAndCachesMiss) {
  const TempFolder folder;
  const std::vector<Token> prompt = make_tokens(150);
  tell(engine_in(load_tiny(), folder.path("store")), prompt);
  TinyModel other;
  other.seed = 2;
  ModelOptions type;
  type.cache_type = CacheType::F32;
  ModelOptions backend;
  backend.backend = "reference";
  for (const auto& model : {load_tiny(other), load_tiny({}, type), load_tiny({}, backend)}) {
    const auto engine = engine_in(model, folder.path("store"));
    EXPECT_EQ(tell(engine, prompt), tell(Engine::create(model), prompt));
    EXPECT_EQ(hits(engine), 0u);
  }
  const auto engine = engine_in(load_tiny(), folder.path("store"));
  tell(engine, prompt);
  EXPECT_GT(hits(engine), 0u) << "and they push nobody out";
}

TEST(Store, OfAnotherFolderMisses) {
  const auto model = load_tiny();
  const TempFolder folder;
  const std::vector<Token> prompt = make_tokens(150);
  tell(engine_in(model, folder.path("one")), prompt);
  tell(engine_in(model, folder.path("two")), make_tokens(40, 8));
  for (const auto& entry : fs::directory_iterator(folder.path("one"))) {
    if (entry.path().extension() != ".tb") continue;
    fs::copy(entry.path(), fs::path(folder.path("two")) / entry.path().filename());
  }
  const auto engine = engine_in(model, folder.path("two"));
  tell(engine, prompt);
  EXPECT_EQ(hits(engine), 0u) << "the folder's secret is in the keys";
}

/// Every record damaged, at one place after another.
TEST(Store, DamagedFilesAreMisses) {
  TinyModel tiny;
  tiny.layers = 1;
  const auto model = load_tiny(tiny);
  const TempFolder folder;
  const std::vector<Token> prompt = make_tokens(80);
  const Told cold = tell(engine_in(model, folder.path("store")), prompt);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder.path("store"))) {
    if (entry.path().extension() == ".tb") files.push_back(entry.path());
  }
  ASSERT_EQ(files.size(), 2u);
  const uint64_t size = fs::file_size(files[0]);
  const fs::path saved = folder.path("saved");
  fs::copy(folder.path("store"), saved);
  std::vector<uint64_t> places;
  for (uint64_t at = 0; at < 110; at += 3) places.push_back(at);
  for (uint64_t at = 110; at < size - 150; at += size / 40) places.push_back(at);
  for (uint64_t at = size - 150; at < size; at += 5) places.push_back(at);
  for (const uint64_t at : places) {
    for (const fs::path& file : files) {
      fs::copy_file(saved / file.filename(), file, fs::copy_options::overwrite_existing);
      std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
      bytes.seekg(static_cast<std::streamoff>(at));
      const int before = bytes.get();
      bytes.seekp(static_cast<std::streamoff>(at));
      bytes.put(static_cast<char>(before ^ 1));
    }
    const auto engine = engine_in(model, folder.path("store"));
    EXPECT_EQ(tell(engine, prompt), cold) << at;
    EXPECT_EQ(hits(engine), 0u) << at;
    engine->settle_store();
  }
  for (uint64_t cut = 0; cut < size; cut += 1 + size / 20) {
    for (const fs::path& file : files) {
      fs::copy_file(saved / file.filename(), file, fs::copy_options::overwrite_existing);
      fs::resize_file(file, cut);
    }
    {
      const auto engine = engine_in(model, folder.path("store"));
      EXPECT_EQ(tell(engine, prompt), cold) << cut;
      EXPECT_EQ(hits(engine), 0u) << cut;
      engine->settle_store();
    }
    uint64_t found = 0;
    until([&] {
      const auto healed = engine_in(model, folder.path("store"));
      EXPECT_EQ(tell(healed, prompt), cold) << cut;
      found = hits(healed);
      return found == 2;
    });
    EXPECT_EQ(found, 2u) << "written again after a cut at " << cut;
  }
}

/// One damaged block ends the reuse there.
TEST(Store, UsesWhatIsWholeBeforeADamagedBlock) {
  const auto model = load_tiny();
  const auto store = std::make_shared<HostileStore>();
  const std::vector<Token> prompt = make_tokens(150);
  const Told cold = tell(engine_over(model, store), prompt);
  const auto all = store->records;
  ASSERT_EQ(all.size(), 5u);  // four of the prompt, one of the answer
  std::set<uint64_t> numbers;
  for (const auto& [damaged, record] : all) {
    store->records = all;
    store->records[damaged].back() ^= std::byte{1};
    const auto engine = engine_over(model, store);
    EXPECT_EQ(tell(engine, prompt), cold);
    numbers.insert(hits(engine));
  }
  EXPECT_EQ(numbers, (std::set<uint64_t>{0, 1, 2, 3, 4}));
}

TEST(Store, MayLie) {
  const auto model = load_tiny(tiny_window());
  const std::vector<Token> prompt = make_tokens(150);
  const Told cold = tell(Engine::create(model), prompt);
  using Way = HostileStore::Way;
  for (const Way way :
       {Way::Forgets, Way::Garbage, Way::WrongSizes, Way::OthersRecords, Way::Cut, Way::Refuses}) {
    const auto store = std::make_shared<HostileStore>();
    EXPECT_EQ(tell(engine_over(model, store), prompt), cold);
    store->way = way;
    const auto engine = engine_over(model, store);
    EXPECT_EQ(tell(engine, prompt), cold) << static_cast<int>(way);
    engine->settle_store();
    if (way == Way::Refuses) {
      EXPECT_EQ(tell(engine, make_tokens(100, 7)),
                tell(Engine::create(model), make_tokens(100, 7)));
      engine->settle_store();
      EXPECT_GT(engine->metrics().store_dropped_total, 0u);
    } else {
      EXPECT_LE(hits(engine), 1u) << static_cast<int>(way);
    }
  }
}

// ---- While it reads -----------------------------------------------------------------------------

class StoreWaits : public testing::Test {
 protected:
  void SetUp() override {
    tell(engine_over(model_, store_), prompt_);
    store_->gate = &gate_;
  }
  void open() { opened_.set_value(); }

  std::shared_ptr<const Model> model_ = load_tiny();
  std::shared_ptr<HostileStore> store_ = std::make_shared<HostileStore>();
  std::promise<void> opened_;
  std::shared_future<void> gate_ = opened_.get_future().share();
  std::vector<Token> prompt_ = make_tokens(150);
};

TEST_F(StoreWaits, OthersGoOn) {
  const Told cold = tell(Engine::create(model_), prompt_);
  const auto engine = engine_over(model_, store_);
  Session session(engine);
  session.append(prompt_);
  const auto generation = session.submit(greedy_sampler(), limits(12));
  EXPECT_FALSE(engine->wait(*generation, 20'000'000));
  EXPECT_EQ(tell(engine, make_tokens(30, 4)), tell(Engine::create(model_), make_tokens(30, 4)));
  EXPECT_EQ(engine->report(*generation).reused_tokens, 0u);
  open();
  std::vector<Token> tokens;
  for (;;) {
    ASSERT_TRUE(engine->wait(*generation, UINT64_MAX));
    const Engine::Fetched fetched = engine->fetch(*generation);
    if (fetched.ended) break;
    tokens.push_back(fetched.token);
  }
  EXPECT_EQ(tokens, cold.tokens);
}

TEST_F(StoreWaits, CancelsEndTheWait) {
  const auto engine = engine_over(model_, store_);
  Session session(engine);
  session.append(prompt_);
  auto generation = session.submit(greedy_sampler(), limits(12));
  EXPECT_FALSE(engine->wait(*generation, 20'000'000));
  engine->cancel(*generation);
  ASSERT_TRUE(engine->wait(*generation, UINT64_MAX));
  EXPECT_TRUE(engine->fetch(*generation).ended);

  Session second(engine);
  second.append(prompt_);
  GenerationOptions soon = limits(12);
  soon.timeout_ns = 30'000'000;
  generation = second.submit(greedy_sampler(), soon);
  ASSERT_TRUE(engine->wait(*generation, UINT64_MAX));
  const Engine::Fetched fetched = engine->fetch(*generation);
  ASSERT_TRUE(fetched.failure);
  try {
    std::rethrow_exception(fetched.failure);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::Deadline);
  }
  open();
}

TEST_F(StoreWaits, AStoreThatHangsDelaysPromptsOnce) {
  const auto engine = engine_over(model_, store_);
  for (const uint32_t seed : {1u, 2u, 3u}) {
    const std::vector<Token> prompt = make_tokens(150, seed);
    EXPECT_EQ(tell(engine, prompt), tell(Engine::create(model_), prompt));
  }
  EXPECT_EQ(hits(engine), 0u);
  open();
}

/// A store that is slower than computing: the prompt waits for one read, not for all.
TEST_F(StoreWaits, SlowReadsAreGivenUp) {
  class Late final : public HostileStore {
   public:
    bool read(Hash128 key, std::span<std::byte> out) noexcept override {
      std::this_thread::sleep_for(std::chrono::milliseconds(250));
      return HostileStore::read(key, out);
    }
  };
  const auto late = std::make_shared<Late>();
  late->records = store_->records;
  const auto engine = engine_over(model_, late);
  EXPECT_EQ(tell(engine, prompt_), tell(Engine::create(model_), prompt_));
  EXPECT_LE(late->num_reads.load(), 2u);
  open();
}

TEST_F(StoreWaits, AnEngineEndsWithReadsUnderWay) {
  {
    const auto engine = engine_over(model_, store_);
    Session session(engine);
    session.append(prompt_);
    const auto generation = session.submit(greedy_sampler(), limits(12));
    EXPECT_FALSE(engine->wait(*generation, 5'000'000));
    engine->withdraw(*generation);
    open();
  }
}

/// Without a thread that waits for the request.
TEST_F(StoreWaits, StepsNoticeADeadline) {
  const auto engine = engine_over(model_, store_);
  Session session(engine);
  session.append(prompt_);
  GenerationOptions soon = limits(12);
  soon.timeout_ns = 30'000'000;
  const auto generation = session.submit(greedy_sampler(), soon);
  const auto latest = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  Engine::Fetched fetched = engine->fetch(*generation);
  while (!fetched.ended) {
    ASSERT_LT(std::chrono::steady_clock::now(), latest) << "the request waits for ever";
    engine->step();
    fetched = engine->fetch(*generation);
  }
  EXPECT_TRUE(fetched.failure);
  open();
}

/// A store that cannot read for a while loses nothing.
TEST(Store, KeepsRecordsThatCannotBeReadNow) {
  const auto model = load_tiny();
  const auto store = std::make_shared<HostileStore>();
  const std::vector<Token> prompt = make_tokens(150);
  const Told cold = tell(engine_over(model, store), prompt);
  store->way = HostileStore::Way::Forgets;
  EXPECT_EQ(tell(engine_over(model, store), prompt), cold);
  EXPECT_EQ(store->num_removed.load(), 0u);
  store->way = HostileStore::Way::Garbage;
  until([&] {
    EXPECT_EQ(tell(engine_over(model, store), prompt), cold);
    return store->num_removed > 0;
  });
  EXPECT_GT(store->num_removed.load(), 0u);
}

/// The host's function lets the engine's last handle go.
TEST(Store, MayEndTheEngineInACall) {
  class Ending final : public HostileStore {
   public:
    bool write(Hash128, Hash128, std::span<const std::byte>) noexcept override {
      let_go.get_future().wait();
      engine.reset();
      ended.set_value();
      return true;
    }
    std::shared_ptr<Engine> engine;
    std::promise<void> let_go;
    std::promise<void> ended;
  };
  const auto store = std::make_shared<Ending>();
  auto engine = engine_over(load_tiny(), store);
  store->engine = engine;
  tell(engine, make_tokens(150));
  engine.reset();
  store->let_go.set_value();
  store->ended.get_future().wait();
}

TEST(Store, OfASmallCacheReadsWhatFits) {
  const auto model = load_tiny();
  const TempFolder folder;
  const std::vector<Token> prompt = make_tokens(200);
  const Told cold = tell(Engine::create(model), prompt);
  tell(engine_in(model, folder.path("store")), prompt);
  const uint64_t block = model->executable().block_bytes(0);
  EngineOptions small = shared_engine();
  for (const uint64_t blocks : {8, 9, 12, 20}) {
    small.cache_bytes = blocks * block;
    const auto engine = engine_in(model, folder.path("store"), small);
    EXPECT_EQ(tell(engine, prompt), cold) << blocks;
    EXPECT_LE(engine->metrics().kv_held_bytes, small.cache_bytes);
  }
}

TEST(Store, IsSetOnceAndBeforeSessions) {
  const auto model = load_tiny();
  const auto store = std::make_shared<HostileStore>();
  const auto code_of = [&](const std::shared_ptr<Engine>& engine) {
    try {
      engine->set_store(store);
    } catch (const Error& error) {
      return error.code();
    }
    return Code::Internal;
  };
  EXPECT_EQ(code_of(engine_over(model, store)), Code::State);
  const auto engine = Engine::create(model, shared_engine());
  const Session session(engine);
  EXPECT_EQ(code_of(engine), Code::State);
  EXPECT_EQ(code_of(Engine::create(model)), Code::Unsupported);
  const TempFolder folder;
  EngineOptions off = shared_engine();
  off.prefix_cache = false;
  off.store = folder.path("store");
  EXPECT_THROW(Engine::create(model, off), Error);
  EXPECT_FALSE(fs::exists(off.store));
}

#ifndef _WIN32

// ---- Other processes ----------------------------------------------------------------------------

/// Runs work() in a process of its own; returns its status.
template <typename Work>
pid_t start_process(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    int status = 1;
    try {
      status = work() ? 0 : 1;
    } catch (...) {
    }
    ::_exit(status);
  }
  return child;
}

int status_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST(Store, IsReadByAnotherProcess) {
  const TempFolder folder;
  const std::string path = folder.path("store");
  const std::vector<Token> prompt = make_tokens(150);
  const auto run = [&](uint64_t least, uint64_t most) {
    const auto model = load_tiny();
    const Told cold = tell(Engine::create(model), prompt);
    uint64_t computed = 0;
    return tell(engine_in(model, path), prompt, "", &computed) == cold && computed >= least &&
           computed <= most;
  };
  EXPECT_EQ(status_of(start_process([&] { return run(150, 150); })), 0);
  EXPECT_EQ(status_of(start_process([&] { return run(1, 22); })), 0);
}

/// Processes that answer, write and are killed, two at a time.
TEST(Store, SurvivesKills) {
  const TempFolder folder;
  const std::string path = folder.path("store");
  EngineOptions options = shared_engine();
  options.store_bytes = 200'000;
  const auto answers = [&](uint32_t first) {
    const auto model = load_tiny();
    for (uint32_t i = 0; i < 200; ++i) {
      const std::vector<Token> prompt = make_tokens(150, (first + i) % 7);
      const auto engine = engine_in(model, path, options);
      tell(engine, prompt);
    }
    return true;
  };
  const auto stored_bytes = [&] {
    uint64_t bytes = 0;
    std::error_code gone;
    for (fs::directory_iterator file(path, gone), end; file != end; file.increment(gone)) {
      const auto size = file->file_size(gone);
      if (!gone) bytes += size;
      if (gone) break;
    }
    return bytes;
  };
  uint32_t state = 1;
  for (int round = 0; round < 12; ++round) {
    const pid_t one = start_process([&] { return answers(0); });
    const pid_t other = start_process([&] { return answers(3); });
    state = state * 1664525u + 1013904223u;
    const auto latest = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (stored_bytes() <= options.store_bytes / 2) {
      ASSERT_LT(std::chrono::steady_clock::now(), latest) << "nothing is written";
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds((state >> 8) % 200));
    ::kill(one, SIGKILL);
    status_of(one);
    ::kill(other, SIGKILL);
    status_of(other);
    EXPECT_LE(stored_bytes(), options.store_bytes);
  }
  EXPECT_EQ(status_of(start_process([&] {
              const auto model = load_tiny();
              const auto engine = engine_in(model, path, options);
              bool all = true;
              for (uint32_t i = 0; i < 7; ++i) {
                const std::vector<Token> prompt = make_tokens(150, i);
                all = all && tell(engine, prompt) == tell(Engine::create(model), prompt);
              }
              return all;
            })),
            0);
}

#endif

}  // namespace
}  // namespace tenon
