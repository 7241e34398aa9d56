// The engine on devices that draw: the guarantees of the CPU hold, and logits stay on the device.
// Vulkan uses the first device, even a processor; CUDA uses its emulator. Each test takes seconds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/base/expect_error.h"
#include "tests/engine/answers.h"
#include "tests/engine/delayed_model.h"
#include "tests/golden/missing_device.h"

namespace tenon {
namespace {

using testing::HasSubstr;

struct TestedDevice {
  const char* name;
  const char* backend;
  std::string plugin;  ///< empty if linked in
};

std::ostream& operator<<(std::ostream& out, const TestedDevice& device) {
  return out << device.name;
}

std::vector<TestedDevice> gpus() {
  return {
#ifdef TENON_VULKAN_PLUGIN
      {"Vulkan", "vulkan", TENON_VULKAN_PLUGIN},
#endif
#ifdef TENON_CUDA_PLUGIN
      {"Cuda", "cuda", TENON_CUDA_PLUGIN},
#endif
  };
}
std::vector<TestedDevice> all_that_draw() {
  std::vector<TestedDevice> all = gpus();
  all.push_back({"Reference", "reference", ""});
  all.push_back({"Delayed", "delayed", TENON_TEST_PLUGIN_DELAYED});
  return all;
}

std::string name_of(const testing::TestParamInfo<TestedDevice>& info) { return info.param.name; }

/// Few kernels, and few values for an emulator to multiply.
TinyModel small_model() {
  TinyModel tiny;
  tiny.layers = 1;
  tiny.width = 64;
  tiny.heads = 2;
  tiny.feed_forward = 64;
  tiny.vocab = 1500;  // more than are listed
  tiny.formats = {Format::Q8_0, Format::F32};
  return tiny;
}

class OnDevices : public testing::TestWithParam<TestedDevice> {
 protected:
  void SetUp() override {
    const TestedDevice& device = GetParam();
    if (!device.plugin.empty()) {
      const std::string missing = golden::missing_device(device.backend, device.plugin);
      if (!missing.empty()) GTEST_SKIP() << device.backend << ": " << missing;
    }
    ModelOptions options;
    options.backend = device.backend;
    if (!device.plugin.empty()) options.plugin_paths = {device.plugin};
    // The default leaves a GiB free, which small machines lack.
    if (std::string_view(device.backend) == "vulkan") {
      options.backend_options = {{"memory_limit", "500000000"}};
    }
    options.slice = 32;
    options.context = 256;
    model_ = load_tiny(small_model(), std::move(options));
  }

  [[nodiscard]] std::shared_ptr<Engine> engine(uint64_t cache_bytes = 0) const {
    EngineOptions options = unbounded_engine();
    options.prefix_cache = true;
    if (cache_bytes != 0) options.cache_bytes = cache_bytes;
    return Engine::create(model_, options);
  }

  std::shared_ptr<const Model> model_;
};

struct DeviceRequest {
  std::unique_ptr<Session> session;
  std::shared_ptr<Generation> generation;
};

/// A request of `way` with a seed.
DeviceRequest submit_way(const std::shared_ptr<Engine>& engine, const Way& way, int64_t seed,
                         uint64_t count, bool with_rows) {
  DeviceRequest asked{std::make_unique<Session>(engine), nullptr};
  asked.session->append(make_tokens(5, static_cast<uint32_t>(seed)));
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  GenerationOptions options = limits(count);
  way.set(sampler, options, engine->model());
  sampler.set("seed", seed);
  options.logprobs.of_drawn = with_rows;  // computed from the whole row
  asked.generation = asked.session->submit(sampler, options);
  return asked;
}

using Draws = OnDevices;
INSTANTIATE_TEST_SUITE_P(OnDevices, Draws, testing::ValuesIn(all_that_draw()), name_of);

/// The host draws the same token from the largest logits as from all.
TEST_P(Draws, OfTheHostNeedTheLargestLogitsOnly) {
  constexpr int64_t kSeeds = 6;
  for (const Way& way : ways()) {
    const bool is_the_hosts = !way.goes_ahead && !way.takes_rows;
    if (!is_the_hosts) continue;
    const auto listed = engine();
    const auto whole = engine();
    std::vector<DeviceRequest> by_list;
    std::vector<DeviceRequest> by_row;
    for (int64_t seed = 0; seed < kSeeds; ++seed) {
      by_list.push_back(submit_way(listed, way, seed, 8, false));
      by_row.push_back(submit_way(whole, way, seed, 8, true));
    }
    for (size_t i = 0; i < by_list.size(); ++i) {
      const WholeAnswer expected = whole_answer(*whole, *by_row[i].generation);
      EXPECT_EQ(whole_answer(*listed, *by_list[i].generation).tokens, expected.tokens)
          << way.name << " " << i;
    }
    EXPECT_EQ(listed->metrics().logits_rows_total, 0u) << way.name;
    EXPECT_GE(whole->metrics().logits_rows_total, 8 * kSeeds) << way.name;
  }
}

/// If the list ends too early, the row is fetched, or its token is computed again.
TEST_P(Draws, WhoseLogitsDoNotTellHaveTheRow) {
  // Under a strict grammar, the allowed top_k tokens reach beyond the list.
  const Way way{"Refused", false, false, [](Sampler& s, GenerationOptions&, const Model& model) {
                  s.set("temperature", 2.0);
                  s.set("presence_penalty", 0.3);
                  s.set_grammar(list_grammar(model));
                }};
  const auto listed = engine();
  const auto whole = engine();
  // A request with steps ahead, so that rows of earlier steps are gone.
  const Way ahead{"Greedy", true, false,
                  [](Sampler& s, GenerationOptions&, const Model&) { s.set("temperature", 0.0); }};
  std::vector<DeviceRequest> beside;
  for (int64_t seed = 0; seed < 3; ++seed)
    beside.push_back(submit_way(listed, ahead, seed, 20, false));
  DeviceRequest by_list = submit_way(listed, way, 1, 12, false);
  DeviceRequest by_row = submit_way(whole, way, 1, 12, true);
  EXPECT_EQ(whole_answer(*listed, *by_list.generation).tokens,
            whole_answer(*whole, *by_row.generation).tokens);
  for (DeviceRequest& one : beside) whole_answer(*listed, *one.generation);
  EXPECT_GT(listed->metrics().logits_rows_total, 0u);
}

using Gpus = OnDevices;
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Gpus);  // empty if no GPU plugin is built
INSTANTIATE_TEST_SUITE_P(OnDevices, Gpus, testing::ValuesIn(gpus()), name_of);

/// Batching, grammars and samplers, two steps under way; then cancels and deadlines.
TEST_P(Gpus, ServeRequestsSideBySideAsAlone) {
  EXPECT_EQ(model_->executable().steps_under_way(), 2u);
  const auto alone = engine();
  const auto together = engine();
  std::vector<DeviceRequest> all;
  std::vector<WholeAnswer> expected;
  for (size_t i = 0; i < ways().size(); ++i) {
    const auto seed = static_cast<int64_t>(i);
    DeviceRequest one = submit_way(alone, ways()[i], seed, 10, false);
    expected.push_back(whole_answer(*alone, *one.generation));
    all.push_back(submit_way(together, ways()[i], seed, 10, false));
  }
  DeviceRequest cancelled = submit_way(together, ways()[0], 50, 100, false);
  GenerationOptions short_time = limits(200);
  short_time.timeout_ns = 1'000'000;
  Session late(together);
  late.append(make_tokens(30));
  const auto expired = late.submit(greedy_sampler(), short_time);
  ASSERT_TRUE(together->wait(*cancelled.generation, UINT64_MAX));
  together->cancel(*cancelled.generation);
  expect_error(Code::Cancelled, HasSubstr("cancelled"),
               [&] { whole_answer(*together, *cancelled.generation); });
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(whole_answer(*together, *all[i].generation), expected[i]) << ways()[i].name;
  }
  expect_error(Code::Deadline, HasSubstr("deadline"), [&] { whole_answer(*together, *expired); });
  EXPECT_GT(together->metrics().steps_ahead_total, 0u);
}

/// Prefix reuse, preemption, forks, rewinds and snapshots change no token.
TEST_P(Gpus, KeepTheTextOfASessionWhateverItsBlocksGoThrough) {
  const std::vector<Token> prompt = make_tokens(140, 3);
  const auto roomy = engine();
  Session first(roomy);
  first.append(prompt);
  const std::vector<Token> expected = generate(first, 6);
  const std::vector<float> logits = last_logits(first);

  Session again(roomy);
  again.append(prompt);
  EXPECT_EQ(generate(again, 6), expected);
  EXPECT_TRUE(same_bits(last_logits(again), logits));
  EXPECT_GE(roomy->metrics().reused_tokens_total, 64u);

  const std::unique_ptr<Session> fork = first.fork();
  fork->rewind(prompt.size() + 2);
  EXPECT_EQ(generate(*fork, 4), std::vector<Token>(expected.begin() + 2, expected.end()));
  EXPECT_TRUE(same_bits(last_logits(*fork), logits));

  std::vector<std::byte> saved;
  first.save([&saved](std::span<const std::byte> part) {
    saved.insert(saved.end(), part.begin(), part.end());
  });
  Session restored(engine());
  restored.restore(*ByteSource::from_memory(saved, "snapshot"));
  EXPECT_TRUE(same_bits(last_logits(restored), logits));

  const auto starved = engine(5 * roomy->pools()[0]->block_bytes());
  std::vector<DeviceRequest> asked;
  for (int32_t i = 0; i < 3; ++i) {
    DeviceRequest one{std::make_unique<Session>(starved, SessionOptions{256}), nullptr};
    one.session->append(prompt);
    GenerationOptions options = limits(6, i);
    one.generation = one.session->submit(greedy_sampler(), options);
    asked.push_back(std::move(one));
    starved->step();
  }
  for (DeviceRequest& one : asked)
    EXPECT_EQ(whole_answer(*starved, *one.generation).tokens, expected);
}

}  // namespace
}  // namespace tenon
