// Models whose tables stay in the file: same bits as loaded tables, through a row cache that is too
// small, and files that become unreadable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include "engine/embedder.h"
#include "tests/base/expect_error.h"
#include "tests/base/faulty_system.h"
#include "tests/base/temp_folder.h"
#include "tests/engine/delayed_model.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Longer than a slice, with repeated tokens.
constexpr uint32_t kLength = 70;

TinyModel untied() {
  TinyModel tiny;
  tiny.tied = false;
  return tiny;
}

/// An untied llama of several formats, or a random model of an architecture.
std::string write_model(const TempFolder& folder, const std::string& name) {
  if (name == "llama") return folder.write("llama.gguf", untied().file());
  const std::string path = folder.path(name + ".gguf");
  write_random_model(System::real(), path, "tiny-" + name, "q8_0");
  return path;
}

ModelOptions in_memory(const std::string& backend = "cpu", uint32_t slice = 16) {
  ModelOptions options;
  options.backend = backend;
  options.threads = 2;
  options.slice = slice;
  options.context = 256;
  options.rows_on_demand = Switch::Off;
  return options;
}

/// Row caches for about `rows` tokens.
ModelOptions in_file(const Model& like, uint64_t rows, const std::string& backend = "cpu",
                     uint32_t slice = 16) {
  ModelOptions options = in_memory(backend, slice);
  options.rows_on_demand = Switch::On;
  options.row_cache_bytes = 1;
  for (const DemandTable& table : like.trunk().tables) {
    options.row_cache_bytes +=
        rows * table.rows_per_token() * RowCache::bytes_of_row(table.source.row_bytes());
  }
  return options;
}

std::shared_ptr<const Model> inspected(const std::string& path) {
  ModelOptions options;
  options.inspect = true;
  options.rows_on_demand = Switch::On;
  return Model::load(path, std::move(options));
}

std::vector<Token> text_for(const Model& model, uint32_t count, uint32_t seed = 1) {
  return make_tokens(count, seed, model.spec().vocab);
}

// ---- Bits ---------------------------------------------------------------------------------------

class RowsOnDemand : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  RowsOnDemand() : path_(write_model(folder_, std::get<0>(GetParam()))), like_(inspected(path_)) {}
  [[nodiscard]] std::string backend() const { return std::get<1>(GetParam()); }
  [[nodiscard]] std::shared_ptr<const Model> held() const {
    return Model::load(path_, in_memory(backend()));
  }
  [[nodiscard]] std::shared_ptr<const Model> fetched(uint64_t rows, uint32_t slice = 16) const {
    return Model::load(path_, in_file(*like_, rows, backend(), slice));
  }

  const TempFolder folder_;
  std::string path_;
  std::shared_ptr<const Model> like_;
};

TEST_P(RowsOnDemand, HaveTheBitsOfTablesInMemoryInSlicesOfAllSizes) {
  const auto held = this->held();
  const std::vector<Token> text = text_for(*held, kLength);
  Session session(Engine::create(held));
  const std::vector<float> expected = evaluate_all(session, text);
  constexpr std::pair<uint32_t, uint64_t> kWays[] = {{1, 3}, {7, 3}, {64, 3}, {16, 0}, {16, 200}};
  for (const auto& [slice, rows] : kWays) {
    SCOPED_TRACE(testing::Message() << "slice " << slice << ", " << rows << " rows");
    const auto model = fetched(rows, slice);
    Session other(Engine::create(model));
    EXPECT_TRUE(same_bits(evaluate_all(other, text), expected));
    const uint64_t read = model->trunk().fetcher->rows_read();
    uint64_t rows_per_token = 0;
    for (const DemandTable& table : model->trunk().tables) {
      rows_per_token += table.rows_per_token();
    }
    if (rows == 3) {
      EXPECT_GT(read, kLength / 2 * rows_per_token) << "rows are evicted";
    }
    if (rows == 200) {
      EXPECT_LE(read, kLength * rows_per_token);
    }
  }
}

TEST_P(RowsOnDemand, HaveThemInCompany) {
  const auto held = this->held();
  const uint32_t vocab = held->spec().vocab;
  const auto answers = [vocab](const std::shared_ptr<const Model>& model) {
    const auto engine = Engine::create(model);
    constexpr uint32_t kLengths[] = {5, 33, 1, 60, 18};
    std::vector<std::unique_ptr<Sequence>> sequences;
    std::vector<std::vector<float>> logits(std::size(kLengths), std::vector<float>(vocab));
    std::vector<BatchItem> items;
    for (size_t i = 0; i < std::size(kLengths); ++i) {
      sequences.push_back(std::make_unique<Sequence>(engine->pools(), 64));
      sequences[i]->append(make_tokens(kLengths[i], static_cast<uint32_t>(i), vocab));
      items.push_back(
          {sequences[i].get(), 0, kLengths[i], Outputs::Last, logits[i].data(), nullptr});
    }
    engine->run(items);
    return logits;
  };
  EXPECT_EQ(answers(fetched(4)), answers(held));
}

TEST_P(RowsOnDemand, HaveThemAfterForkAndRewind) {
  const auto held = this->held();
  const std::vector<Token> text = text_for(*held, 40);
  const auto answer = [&text](const std::shared_ptr<const Model>& model) {
    EngineOptions options = unbounded_engine();
    options.prefix_cache = true;
    const auto engine = Engine::create(model, options);
    Session session(engine);
    session.append(text);
    std::vector<Token> tokens = generate(session, 5);
    const auto fork = session.fork();
    fork->rewind(30);
    for (const Token token : generate(*fork, 5)) tokens.push_back(token);
    Session again(engine);
    again.append(text);
    for (const Token token : generate(again, 5)) tokens.push_back(token);
    return tokens;
  };
  EXPECT_EQ(answer(fetched(4)), answer(held));
}

INSTANTIATE_TEST_SUITE_P(Models, RowsOnDemand,
                         testing::Combine(testing::Values("llama", "gemma3n", "gemma4", "qwen4exp",
                                                          "deepseek41"),
                                          testing::Values("cpu", "reference")),
                         [](const auto& instance) {
                           return std::string(std::get<0>(instance.param)) + "_" +
                                  std::get<1>(instance.param);
                         });

TEST(RowsOnDemandTables, AreThoseThatOnlyTokensChooseRowsOf) {
  const TempFolder folder;
  const auto tables_of = [&folder](const std::string& name) {
    std::vector<std::string> names;
    const auto model = inspected(write_model(folder, name));
    for (const DemandTable& table : model->trunk().tables) {
      names.push_back(table.source.place(0, 0).tensor->name);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(tables_of("llama"), Names{"token_embd.weight"});
  EXPECT_EQ(tables_of("gemma3n"), Names{"per_layer_token_embd.weight"}) << "the embedding is tied";
  EXPECT_EQ(tables_of("gemma4"), Names{"per_layer_token_embd.weight"});
  EXPECT_EQ(tables_of("qwen4exp"), Names{"per_layer_token_embd.weight"}) << "n-grams find its rows";
}

TEST(RowsOnDemandTables, GiveAnEmbedderTheSameRows) {
  // Tied embeddings, but no logits.
  const auto rows_of = [](Switch on_demand) {
    ModelOptions options = in_memory();
    options.embeddings = Embeddings::On;
    options.rows_on_demand = on_demand;
    options.row_cache_bytes = 1000;
    const auto model = load_tiny({}, std::move(options));
    EXPECT_EQ(model->trunk().fetcher != nullptr, on_demand == Switch::On);
    Embedder embedder(model, {});
    std::vector<EmbedderText> texts;
    for (const uint32_t count : {5, 40, 1}) texts.push_back({make_tokens(count, count)});
    std::vector<float> rows(texts.size() * embedder.info().dimensions);
    embedder.embed(texts, rows.data(), UINT64_MAX);
    return rows;
  };
  EXPECT_EQ(rows_of(Switch::On), rows_of(Switch::Off));
}

// ---- Steps --------------------------------------------------------------------------------------

TEST(RowsOnDemandSteps, ComeOneAfterTheOtherOnADeviceThatDraws) {
  const auto answer = [](Switch on_demand, uint64_t& steps_ahead) {
    ModelOptions options = on_delayed({});
    options.rows_on_demand = on_demand;
    options.row_cache_bytes = 1000;
    const auto engine = Engine::create(load_tiny(untied(), std::move(options)));
    Session session(engine);
    session.append(make_tokens(50));
    const auto generation = session.submit(greedy_sampler(), limits(20));
    std::vector<Token> tokens;
    for (;;) {
      engine->wait(*generation, UINT64_MAX);
      const Engine::Fetched fetched = engine->fetch(*generation);
      if (fetched.ended) break;
      tokens.push_back(fetched.token);
    }
    steps_ahead = engine->metrics().steps_ahead_total;
    return tokens;
  };
  uint64_t ahead_in_memory = 0;
  uint64_t ahead_in_file = 0;
  const std::vector<Token> expected = answer(Switch::Off, ahead_in_memory);
  EXPECT_EQ(expected.size(), 20u);
  EXPECT_EQ(answer(Switch::On, ahead_in_file), expected);
  EXPECT_GT(ahead_in_memory, 0u);
  EXPECT_EQ(ahead_in_file, 0u);
}

TEST(RowsOnDemandSteps, TakeTurnsAmongTheEnginesOfAModel) {
  ModelOptions options = in_memory();
  options.rows_on_demand = Switch::On;
  options.row_cache_bytes = 500;
  const auto model = load_tiny(untied(), std::move(options));
  const auto answer = [](const std::shared_ptr<const Model>& of, uint32_t seed) {
    Session session(Engine::create(of));
    session.append(make_tokens(40, seed));
    return generate(session, 10);
  };
  const auto held = load_tiny(untied(), in_memory());
  std::vector<std::vector<Token>> answers(4);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < answers.size(); ++i) {
    threads.emplace_back([&, i] { answers[i] = answer(model, i); });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint32_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i], answer(held, i)) << i;
}

TEST(RowsOnDemandSteps, ReadOnTheThreadsOfTheHost) {
  const auto logits_of = [](Switch on_demand) {
    ModelOptions options = in_memory();
    options.rows_on_demand = on_demand;
    options.row_cache_bytes = 500;
    options.executor =
        Executor{nullptr, 3, [](void*, uint32_t n, void (*task)(void*, uint32_t), void* arg) {
                   for (uint32_t i = n; i > 0; --i) task(arg, i - 1);
                 }};
    Session session(Engine::create(load_tiny(untied(), std::move(options))));
    return evaluate_all(session, make_tokens(40));
  };
  EXPECT_TRUE(same_bits(logits_of(Switch::On), logits_of(Switch::Off)));
}

// ---- Unreadable files ---------------------------------------------------------------------------

/// A host's reader over a model that can be told to fail.
struct HostFile {
  std::vector<std::byte> bytes = untied().file();
  std::atomic<int64_t> answer{-2};  ///< returned by read; -2: the requested bytes
  std::function<void()> on_read;

  [[nodiscard]] std::shared_ptr<const Model> load(uint64_t rows) {
    const auto read = [](void* user, uint64_t offset, void* buffer, uint64_t size) -> int64_t {
      auto& self = *static_cast<HostFile*>(user);
      if (self.on_read) self.on_read();
      if (self.answer == -1 || self.answer == 0) return self.answer;
      const uint64_t count =
          self.answer < 0 ? size : std::min(size, static_cast<uint64_t>(self.answer));
      std::memcpy(buffer, self.bytes.data() + offset, count);
      return static_cast<int64_t>(count);
    };
    const auto source = [&] {
      return ByteSource::from_reader({this, bytes.size(), read, false}, "host.gguf");
    };
    ModelOptions options;
    options.inspect = true;
    options.rows_on_demand = Switch::On;
    const auto like = load_source(source(), std::move(options));
    return load_source(source(), in_file(*like, rows));
  }
};

TEST(RowsOnDemandFailures, OfAReaderEndTheRequestAndTheSessionGoesOn) {
  HostFile file;
  const auto model = file.load(8);
  Session session(Engine::create(model));
  const std::vector<Token> text = make_tokens(30);
  Session expected(Engine::create(load_tiny(untied(), in_memory())));
  expected.append(text);
  for (const int64_t answer : {-1, 0}) {
    file.answer = answer;
    Session failing(Engine::create(model));
    failing.append(text);
    expect_error(Code::Io, AllOf(HasSubstr("host.gguf"), HasSubstr("reader returned")),
                 [&] { failing.prefill(); });
    EXPECT_EQ(failing.stats().prefill_tokens, 0u);
    file.answer = -2;
    EXPECT_TRUE(same_bits(failing.logits(), expected.logits()));
  }
  file.answer = 7;  // bytes per read
  session.append(text);
  EXPECT_TRUE(same_bits(session.logits(), expected.logits()));
}

TEST(RowsOnDemandFailures, OfOneStepDoNotConcernTokensThatAreCached) {
  HostFile file;
  const auto model = file.load(300);
  Session session(Engine::create(model));
  session.append(make_tokens(30));
  session.prefill();
  file.answer = -1;
  session.append(make_tokens(30));
  session.prefill();
  EXPECT_EQ(session.stats().prefill_tokens, 60u) << "all its rows are in the cache";
}

TEST(RowsOnDemandFailures, OfAFileThatChanged) {
  const TempFolder folder;
  const std::string path = folder.write("m.gguf", untied().file());
  const auto model = Model::load(path, in_file(*inspected(path), 8));
  Session session(Engine::create(model));
  session.append(make_tokens(20));
  session.prefill();
  std::ofstream(path, std::ios::binary | std::ios::app) << "more";
  session.append(make_tokens(20, 2));
  expect_error(Code::Io, HasSubstr("model file changed"), [&] { session.prefill(); });
  EXPECT_EQ(session.stats().prefill_tokens, 20u);
}

TEST(RowsOnDemandFailures, OfEachCallToTheSystemLeaveTheSessionUsable) {
  const TempFolder folder;
  const std::string path = folder.write("m.gguf", untied().file());
  const auto like = inspected(path);
  const auto load = [&](const std::shared_ptr<FaultySystem>& system) {
    ModelOptions options = in_file(*like, 3);
    options.threads = 1;
    options.system = system;
    return Model::load(path, std::move(options));
  };
  const auto answer = [](const std::shared_ptr<const Model>& model) {
    Session session(Engine::create(model), SessionOptions{64});
    session.append(make_tokens(20));
    return generate(session, 2);
  };
  const auto counting = std::make_shared<FaultySystem>();
  const auto model = load(counting);
  const uint64_t first = counting->num_calls();
  const std::vector<Token> expected = answer(model);
  const uint64_t last = counting->num_calls();
  ASSERT_GT(last, first + 30) << "rows are read";
  for (uint64_t n = first; n < last; ++n) {
    const auto system = std::make_shared<FaultySystem>(n);
    auto faulty = load(system);
    try {
      EXPECT_EQ(answer(faulty), expected) << n;
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == Code::NoMemory || error.code() == Code::Io) << error.what();
    }
    EXPECT_TRUE(system->failed());
    EXPECT_EQ(answer(faulty), expected) << n;
    faulty.reset();
    EXPECT_TRUE(system->all_released()) << n;
  }
}

TEST(RowsOnDemandFailures, NoneButTheEndOfTheRequestComesOfACancelBetweenRows) {
  HostFile file;
  const auto model = file.load(300);
  Session session(Engine::create(model));
  const std::vector<Token> text = make_tokens(16);
  session.append(text);
  std::atomic<int> reads{0};
  file.on_read = [&] {
    ++reads;
    session.cancel();
  };
  expect_error(Code::Cancelled, HasSubstr("cancelled"), [&] { session.prefill(); });
  EXPECT_LE(reads, 2) << "a row for each of two threads";
  file.on_read = {};
  Session expected(Engine::create(load_tiny(untied(), in_memory())));
  expected.append(text);
  EXPECT_TRUE(same_bits(session.logits(), expected.logits()));
}

// ---- Options ------------------------------------------------------------------------------------

TEST(RowsOnDemandOption, IsRefusedWhereNoTableCanStayInTheFile) {
  ModelOptions options;
  options.rows_on_demand = Switch::On;
  expect_error(Code::Unsupported, AllOf(HasSubstr("rows_on_demand"), HasSubstr("output matrix")),
               [&] { load_tiny({}, std::move(options)); });
}

TEST(RowsOnDemandOption, AutoLooksAtTheMemoryAvailable) {
  const auto tables = [](uint64_t available, const TinyModel& tiny) {
    const auto system = std::make_shared<FaultySystem>();
    system->set_available_memory(available);
    ModelOptions options;
    options.system = system;
    options.threads = 1;
    return load_tiny(tiny, std::move(options))->trunk().tables.size();
  };
  const uint64_t bytes = header_of(untied())->file().tensor_bytes();
  EXPECT_EQ(tables(bytes * 2, untied()), 0u);
  EXPECT_EQ(tables(bytes * 4 / 3 + 8, untied()), 0u);
  EXPECT_EQ(tables(bytes * 4 / 3 - 8, untied()), 1u);
  EXPECT_EQ(tables(bytes / 2, {}), 0u) << "tied";
}

TEST(RowsOnDemandOption, ChecksTheTablesThatItLeavesInTheFile) {
  TinyModel tiny = untied();
  tiny.formats = {Format::F32};
  tiny.edit = [](const std::string& name, std::span<float> values) {
    if (name == "token_embd.weight") values[1000] = std::numeric_limits<float>::quiet_NaN();
  };
  const auto load = [&tiny](bool check) {
    ModelOptions options = in_memory();
    options.rows_on_demand = Switch::On;
    options.check_weights = check;
    return load_tiny(tiny, std::move(options));
  };
  (void)load(false);
  expect_error(Code::Format, AllOf(HasSubstr("token_embd.weight"), HasSubstr("row 10")),
               [&] { (void)load(true); });
  tiny.edit = {};
  EXPECT_NE(load(true)->trunk().fetcher, nullptr);
}

TEST(RowsOnDemandOption, CountsTheCacheInPlaceOfTheTable) {
  const TempFolder folder;
  const std::string path = write_model(folder, "gemma3n");
  const auto like = inspected(path);
  const uint64_t table = table_bytes(like->trunk().tables);
  const MemoryNeeds held = Model::load(path, in_memory())->memory(64);
  const MemoryNeeds fetched = Model::load(path, in_file(*like, 16))->memory(64);
  const uint64_t cache = row_cache_bytes(like->trunk().tables, in_file(*like, 16).row_cache_bytes);
  EXPECT_NEAR(static_cast<double>(held.weights_bytes - fetched.weights_bytes),
              static_cast<double>(table - cache), 4096);
  EXPECT_EQ(fetched.kv_bytes, held.kv_bytes);
  // Without weights, the estimate from the file is the same.
  ModelOptions header = in_file(*like, 16);
  header.inspect = true;
  ModelOptions whole = in_memory();
  whole.inspect = true;
  EXPECT_EQ(Model::load(path, std::move(whole))->memory(64).weights_bytes - table + cache,
            Model::load(path, std::move(header))->memory(64).weights_bytes);
}

}  // namespace
}  // namespace tenon
