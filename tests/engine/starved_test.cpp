// Concurrent requests in a cache that is too small: clients arrive, cancel, fork, rewind, save and
// restore in a seeded random order, while memory is refused at times. Every answer has the bits of
// a run alone or ends with an expected error; the cache never exceeds its budget.
//
// Setting the number of rounds includes all architectures:
//
//     TENON_STARVED_ROUNDS=50 TENON_STARVED_SEED=7 build-dev/bin/test_engine --gtest_filter='*Starved*'
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <tuple>

#include "arch/architectures.h"
#include "file/open.h"
#include "random_model/random_blocks.h"
#include "tests/base/new_counters.h"
#include "tests/base/weighing_system.h"
#include "tests/engine/delayed_model.h"
#include "tests/engine/random_tiny.h"
#include "tests/engine/tiny_engine.h"

namespace tenon::starved {
namespace {

constexpr uint32_t kContext = 160;

uint64_t setting(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

/// Tracks held memory, refuses memory on demand, and has a clock that advances per reading, so that
/// rounds are reproducible.
class StarvedSystem : public WeighingSystem {
 public:
  void* map_pages(uint64_t size_bytes) noexcept override {
    return refuses_ ? nullptr : WeighingSystem::map_pages(size_bytes);
  }
  void* allocate(uint64_t size_bytes, uint64_t alignment) noexcept override {
    return refuses_ ? nullptr : WeighingSystem::allocate(size_bytes, alignment);
  }
  uint64_t now_ns() noexcept override { return now_ += 20'000; }
  void refuse(bool refuses) { refuses_ = refuses; }

 private:
  std::atomic<bool> refuses_{false};
  std::atomic<uint64_t> now_{1'000'000'000};
};

/// A request for a text.
struct Ask {
  std::vector<Token> source;  ///< encoder-decoders only
  std::vector<Token> text;
  uint64_t max_tokens = 0;
  int64_t seed = 0;
};

struct Answer {
  std::vector<Token> tokens;
  std::vector<float> logprobs;  // [tokens, 1 + kTop]
  std::exception_ptr failure;
};
constexpr uint32_t kTop = 2;

Code code_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.code();
  } catch (const std::bad_alloc&) {
    return Code::NoMemory;
  }
}

std::shared_ptr<Generation> submit(Session& session, const Ask& ask, uint64_t timeout_ns = 0,
                                   int32_t priority = 0) {
  GenerationOptions options = limits(ask.max_tokens, priority);
  options.timeout_ns = timeout_ns;
  options.logprobs.num_top = kTop;
  options.logprobs.of_drawn = true;
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  sampler.set("temperature", 0.9);
  sampler.set("repeat_penalty", 1.1);
  sampler.set("seed", ask.seed);
  return session.submit(sampler, options);
}

/// Fetches available tokens; returns true at the end.
bool fetch(Engine& engine, Generation& generation, Answer& out) {
  while (engine.wait(generation, 0)) {
    const Engine::Fetched fetched = engine.fetch(generation);
    if (fetched.has_token) {
      out.tokens.push_back(fetched.token);
      float values[1 + kTop];
      Token tops[kTop];
      engine.logprobs(generation, values[0], tops, std::span(values).subspan(1));
      out.logprobs.insert(out.logprobs.end(), std::begin(values), std::end(values));
    }
    if (fetched.failure) out.failure = fetched.failure;
    if (fetched.ended) return true;
  }
  return false;
}

struct Client {
  std::unique_ptr<Session> session;
  Ask ask;  ///< of the generation; between generations, its text is the session's
  std::shared_ptr<Generation> generation;
  Answer answer;
  /// A cancel after the end of an answer ends the session's next call.
  bool is_cancelled = false;
  bool has_deadline = false;
};

struct Case {
  std::string architecture;
  bool is_delayed = false;  ///< runs on a device with a queue
};
/// Shows the name in test reports.
void PrintTo(const Case& one, std::ostream* out) { *out << one.architecture; }

class Starved : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const TempFolder folder;
    const std::string path = folder.path("model.gguf");
    write_random_model(System::real(), path, "tiny-" + GetParam().architecture, "q8_0");
    if (read_model_spec(*open_model_file(path)).pooling) GTEST_SKIP() << "an encoder";
    const auto load = [&](uint32_t slice, std::shared_ptr<System> system) {
      ModelOptions options = GetParam().is_delayed ? on_delayed({}) : ModelOptions{};
      options.slice = slice;
      options.threads = 1;
      options.context = kContext;
      options.system = std::move(system);
      return Model::load(path, std::move(options));
    };
    model_ = load(16, system_);
    alone_ = load(256, System::real());
    vocab_ = model_->spec().vocab;
  }

  uint64_t below(uint64_t limit) { return random_->next() % limit; }

  /// Answer of an unshared model with an unlimited cache.
  const Answer& expected(const Ask& ask) {
    Answer& answer = answers_[std::make_tuple(ask.source, ask.text, ask.max_tokens, ask.seed)];
    if (answer.tokens.empty()) answer = answer_alone(alone_, unbounded_engine(), ask);
    return answer;
  }
  static Answer answer_alone(const std::shared_ptr<const Model>& model,
                             const EngineOptions& options, const Ask& ask) {
    const auto engine = Engine::create(model, options);
    Session session(engine, SessionOptions{kContext});
    if (!ask.source.empty()) session.set_source(ask.source);
    session.rewind(0);
    session.append(ask.text);
    const auto generation = submit(session, ask);
    Answer answer;
    while (!fetch(*engine, *generation, answer)) (void)engine->step();
    return answer;
  }

  void run_round(uint64_t seed);
  void act();
  void open_client();
  void ask_again(Client& client);
  void use_idle(Client& client);
  void check_ended(Client& client);
  void check_memory();
  template <typename Call>
  bool call(Call use, Client* client = nullptr);

  const std::shared_ptr<StarvedSystem> system_ = std::make_shared<StarvedSystem>();
  std::shared_ptr<const Model> model_;
  std::shared_ptr<const Model> alone_;
  uint32_t vocab_ = 0;
  std::map<std::tuple<std::vector<Token>, std::vector<Token>, uint64_t, int64_t>, Answer> answers_;

  // State of a round.
  std::optional<SplitMix> random_;
  EngineOptions options_ = unbounded_engine();
  std::shared_ptr<Engine> engine_;
  std::vector<std::unique_ptr<Client>> clients_;
  bool is_short_ = false;    ///< the budget is below one full session
  bool has_faults_ = false;  ///< refuses memory at times
};

/// Makes a call during which memory may be refused; returns true on success. Accepts NoMemory if
/// memory is refused or the budget is short, and Cancelled after a cancel.
template <typename Call>
bool Starved::call(Call use, Client* client) {
  const bool refuses = has_faults_ && below(3) == 0;
  if (refuses && below(2) == 0) {
    system_->refuse(true);
  } else if (refuses) {
    counted_new::allocations_left = static_cast<int64_t>(below(40));
  }
  std::exception_ptr failure;
  try {
    use();
  } catch (...) {
    failure = std::current_exception();
  }
  counted_new::allocations_left = -1;
  system_->refuse(false);
  if (!failure) return true;
  if (client != nullptr && client->is_cancelled && code_of(failure) == Code::Cancelled) {
    client->is_cancelled = false;
    return false;
  }
  EXPECT_EQ(code_of(failure), Code::NoMemory);
  EXPECT_TRUE(refuses || is_short_) << "of a budget that one session fits into";
  return false;
}

void Starved::check_memory() {
  EXPECT_LE(engine_->metrics().kv_held_bytes, options_.cache_bytes);
  const MemoryNeeds said = model_->memory(kContext);
  // In addition: the logits of each session, and logits and tables of a step.
  const uint64_t rows = (clients_.size() + 16) * (vocab_ * sizeof(float) + 4096);
  EXPECT_LE(system_->held(), said.weights_bytes + said.scratch_bytes + options_.cache_bytes + rows);
}

void Starved::open_client() {
  auto client = std::make_unique<Client>();
  const auto make = [&] {
    client->session = std::make_unique<Session>(engine_, SessionOptions{kContext});
  };
  if (!call(make)) return;
  if (model_->find(ProgramRole::Encoder) != nullptr) {
    client->ask.source =
        make_tokens(static_cast<uint32_t>(1 + below(50)), static_cast<uint32_t>(below(2)), vocab_);
    if (!call([&] { client->session->set_source(client->ask.source); })) return;
    client->session->rewind(0);
  }
  // Three texts, so that many share prefixes.
  const std::vector<Token> text =
      make_tokens(static_cast<uint32_t>(1 + below(120)), static_cast<uint32_t>(below(3)), vocab_);
  if (!call([&] { client->session->append(text); })) return;
  client->ask.text = text;
  clients_.push_back(std::move(client));
}

/// Continues the client's text.
void Starved::ask_again(Client& client) {
  const uint64_t room = kContext - client.ask.text.size();
  if (room == 0) return;
  client.ask.max_tokens = 1 + below(std::min<uint64_t>(room, 40));
  client.ask.seed = static_cast<int64_t>(below(2));
  client.has_deadline = below(8) == 0;
  const uint64_t timeout_ns = client.has_deadline ? 1 + below(20'000'000) : 0;
  const auto priority = static_cast<int32_t>(below(3));
  client.answer = {};
  const auto ask = [&] {
    client.generation = submit(*client.session, client.ask, timeout_ns, priority);
  };
  (void)call(ask, &client);
}

void Starved::check_ended(Client& client) {
  const std::string what =
      fmt::format("a text of {} and {} tokens", client.ask.text.size(), client.ask.max_tokens);
  const Answer& whole = expected(client.ask);
  Answer& answer = client.answer;
  const size_t count = answer.tokens.size();
  if (answer.failure) {
    switch (code_of(answer.failure)) {
      case Code::Cancelled:
        EXPECT_TRUE(client.is_cancelled) << what;
        client.is_cancelled = false;
        break;
      case Code::Deadline:
        EXPECT_TRUE(client.has_deadline) << what;
        break;
      case Code::NoMemory:
        EXPECT_TRUE(is_short_ || has_faults_) << what;
        if (!has_faults_) {
          EXPECT_TRUE(answer_alone(model_, options_, client.ask).failure)
              << what << " finds room alone";
        }
        break;
      default:
        ADD_FAILURE() << code_name(code_of(answer.failure));
    }
    ASSERT_LE(count, whole.tokens.size());
  } else {
    ASSERT_EQ(count, whole.tokens.size()) << what;
  }
  EXPECT_TRUE(std::ranges::equal(answer.tokens, std::span(whole.tokens).first(count))) << what;
  EXPECT_TRUE(same_bits(answer.logprobs, std::span(whole.logprobs).first(count * (1 + kTop))))
      << what;
  client.generation = nullptr;
  // Drawn but unfetched tokens also become part of the text.
  const std::span<const Token> text = client.session->tokens();
  const size_t before = client.ask.text.size();
  ASSERT_GE(text.size(), before + count);
  EXPECT_TRUE(std::ranges::equal(text.first(before), client.ask.text));
  EXPECT_TRUE(std::ranges::equal(text.subspan(before, count), answer.tokens));
  client.ask.text.assign(text.begin(), text.end());
}

/// Uses a session between two answers: all operations on its text.
void Starved::use_idle(Client& client) {
  Session& session = *client.session;
  std::vector<Token>& text = client.ask.text;
  switch (below(6)) {
    case 0: {
      const uint64_t left = below(text.size() + 1);
      session.rewind(left);
      text.resize(left);
      const std::vector<Token> more = make_tokens(1 + static_cast<uint32_t>(below(9)), 7, vocab_);
      if (text.size() + more.size() > kContext) return;
      if (call([&] { session.append(more); }, &client))
        text.insert(text.end(), more.begin(), more.end());
      return;
    }
    case 1: {
      auto fork = std::make_unique<Client>();
      if (!call([&] { fork->session = session.fork(); }, &client)) return;
      fork->ask = client.ask;
      clients_.push_back(std::move(fork));
      return;
    }
    case 2: {
      if (text.empty()) return;
      std::vector<float> logits(vocab_);
      if (!call([&] { std::ranges::copy(session.logits(), logits.begin()); }, &client)) return;
      Session whole(Engine::create(alone_), SessionOptions{kContext});
      if (!client.ask.source.empty()) whole.set_source(client.ask.source);
      whole.rewind(0);
      whole.append(text);
      EXPECT_TRUE(same_bits(logits, whole.logits())) << "after " << text.size();
      return;
    }
    case 3: {
      std::vector<std::byte> saved(session.snapshot_bytes());
      size_t end = 0;
      const auto save = [&] {
        session.save([&](std::span<const std::byte> part) {
          std::ranges::copy(part, saved.begin() + static_cast<ptrdiff_t>(end));
          end += part.size();
        });
      };
      if (!call(save, &client)) return;
      auto restored = std::make_unique<Client>();
      restored->session = std::make_unique<Session>(engine_, SessionOptions{kContext});
      const auto source = ByteSource::from_memory(std::span(saved).first(end), "snapshot");
      if (!call([&] { restored->session->restore(*source); })) return;
      restored->ask = client.ask;
      clients_.push_back(std::move(restored));
      return;
    }
    case 4:
      std::erase_if(clients_, [&](const auto& one) { return one.get() == &client; });
      return;
    default:
      if (!text.empty()) ask_again(client);
  }
}

void Starved::act() {
  if (clients_.empty() || (clients_.size() < 7 && below(6) == 0)) open_client();
  if (clients_.empty()) return;
  Client& client = *clients_[below(clients_.size())];
  if (client.generation == nullptr) return use_idle(client);
  if (below(24) == 0) {
    client.is_cancelled = true;
    below(2) == 0 ? client.session->cancel() : engine_->cancel(*client.generation);
  } else {
    (void)call([&] { (void)engine_->step(); });
  }
  if (fetch(*engine_, *client.generation, client.answer)) check_ended(client);
}

void Starved::run_round(uint64_t seed) {
  random_.emplace(hash_bytes(std::as_bytes(std::span(GetParam().architecture)), seed).low);
  has_faults_ = below(3) == 0;
  options_ = {};
  const uint64_t needed = model_->memory(kContext).kv_bytes;
  constexpr uint64_t kEighths[] = {2, 4, 5, 6, 7, 8, 8, 8, 9, 12, 20};
  options_.cache_bytes = needed * kEighths[below(std::size(kEighths))] / 8;
  is_short_ = options_.cache_bytes < needed;
  options_.prefix_cache = below(2) == 0;
  options_.step_tokens = below(2) == 0 ? 0 : static_cast<uint32_t>(1 + below(16));
  options_.max_running = below(3) == 0 ? static_cast<uint32_t>(1 + below(3)) : 256;
  options_.state_checkpoint_tokens = static_cast<uint32_t>(32 << below(3));
  engine_ = Engine::create(model_, options_);
  const uint32_t actions = GetParam().is_delayed ? 60 : 150;
  for (uint32_t i = 0; i < actions && !HasFailure(); ++i) {
    act();
    check_memory();
  }
  has_faults_ = false;
  for (const auto& client : clients_) {
    for (uint32_t steps = 0; client->generation != nullptr; ++steps) {
      ASSERT_LT(steps, 20'000u) << "goes on for ever";
      const bool is_done = fetch(*engine_, *client->generation, client->answer);
      if (is_done) {
        has_faults_ = true;  // part of it may have been refused
        check_ended(*client);
        has_faults_ = false;
        if (HasFatalFailure()) return;
      } else {
        ASSERT_TRUE(engine_->step()) << "nothing to do, and an answer is missing";
        check_memory();
      }
    }
  }
  clients_.clear();
  const EngineMetrics metrics = engine_->metrics();
  EXPECT_EQ(metrics.waiting + metrics.running, 0u);
  EXPECT_EQ(metrics.kv_used_bytes, metrics.kv_shared_bytes);
  engine_ = nullptr;
}

TEST_P(Starved, AnswersAreThoseAloneOrEndWithTheError) {
  const uint64_t rounds = setting("TENON_STARVED_ROUNDS", 1);
  const uint64_t seed = setting("TENON_STARVED_SEED", 1);
  for (uint64_t round = 0; round < rounds && !HasFailure(); ++round) {
    SCOPED_TRACE(fmt::format("TENON_STARVED_ROUNDS=1 TENON_STARVED_SEED={}", seed + round));
    run_round(seed + round);
    clients_.clear();
    engine_ = nullptr;
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* architecture : {"llama", "gemma3", "deepseek2", "deepseek32", "deepseek4",
                                   "glm5next", "mamba", "nemotron_h", "qwen3next", "rwkv7", "t5"}) {
    all.push_back({architecture});
  }
  for (const char* architecture : {"gemma3", "nemotron_h"}) all.push_back({architecture, true});
  if (std::getenv("TENON_STARVED_ROUNDS") == nullptr) return all;
  for (const NamedArchitecture& one : architectures()) {
    const std::string name(one.name);
    if (std::ranges::find(all, name, &Case::architecture) == all.end()) all.push_back({name});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Of, Starved, testing::ValuesIn(cases()), [](const auto& instance) {
  std::string name;  // architectures may differ in a punctuation mark only
  for (const char c : instance.param.architecture) name += c == '-' ? "__" : std::string(1, c);
  return name + (instance.param.is_delayed ? "_on_a_device_with_a_queue" : "");
});

}  // namespace
}  // namespace tenon::starved
