// Models with layers on several devices: results, memory and refusals. kinds_test.cpp verifies that
// cuts change no bit of any cache kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engine/device_slabs.h"
#include "model/placed_executable.h"
#include "tests/base/expect_error.h"
#include "tests/engine/delayed_model.h"
#include "tests/engine/random_tiny.h"
#include "tests/engine/tiny_engine.h"
#include "tests/engine/tiny_kinds.h"

namespace tenon {
namespace {

using testing::HasSubstr;

ModelOptions on_devices(std::string devices, std::string memory = "") {
  ModelOptions options;
  options.devices = std::move(devices);
  options.device_memory = std::move(memory);
  options.slice = 16;
  options.context = 256;
  return options;
}

ModelOptions on_backend(std::string backend) {
  ModelOptions options;
  options.backend = std::move(backend);
  options.slice = 16;
  options.context = 256;
  return options;
}

TinyModel four_layers() {
  TinyModel tiny;
  tiny.layers = 4;
  return tiny;
}

/// RMS of the differences, relative to the RMS of `right`.
double difference(std::span<const float> values, std::span<const float> right) {
  double sum = 0;
  double whole = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    sum += std::pow(double{values[i]} - right[i], 2);
    whole += std::pow(double{right[i]}, 2);
  }
  return values.size() == right.size() ? std::sqrt(sum / whole) : INFINITY;
}

std::vector<float> logits_of(const std::shared_ptr<const Model>& model) {
  Session session(Engine::create(model));
  return evaluate_all(session, make_tokens(70));
}

/// Cached layers per device in use, in step order: "cpu 2, reference 2".
std::string layers_of(const Model& model) {
  std::string text;
  const PlacedExecutable& executable = model.executable();
  const std::span<const tenon_cache_group> groups = model.program().groups();
  for (uint32_t device = 0; device < executable.devices().size(); ++device) {
    uint32_t layers = 0;
    for (uint32_t group = 0; group < groups.size(); ++group) {
      if (executable.group_device(group) == device) layers += groups[group].layers;
    }
    text += (text.empty() ? "" : ", ") + executable.devices()[device].device->name() + " " +
            std::to_string(layers);
  }
  return text;
}

// ---- Results ------------------------------------------------------------------------------------

class PlacedAs : public testing::TestWithParam<const char*> {};

/// Bound for models partly on the CPU, from the CPU's own difference to the reference.
double cpu_difference(const char* architecture, std::span<const float> right) {
  return 1.5 *
         difference(logits_of(load_random_placed(architecture, 16, on_backend("cpu"))), right);
}

TEST_P(PlacedAs, ReferenceAndCpuGiveTheLogitsOfOne) {
  const char* architecture = GetParam();
  const auto right = logits_of(load_random_placed(architecture, 16, on_backend("reference")));
  ModelOptions last = on_devices("reference");
  last.gpu_layers = 1;
  const auto mixed = load_random_placed(architecture, 16, std::move(last));
  ASSERT_EQ(mixed->executable().devices().size(), 2u) << layers_of(*mixed);
  EXPECT_EQ(mixed->backend_name(), "cpu+reference");
  EXPECT_LE(difference(logits_of(mixed), right), cpu_difference(architecture, right));
  // The reference computes in f64, so a cut rounds once.
  const auto two = load_random_placed(architecture, 16, on_devices("reference=1,reference"));
  EXPECT_EQ(two->executable().devices().size(), 2u);
  EXPECT_LE(difference(logits_of(two), right), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Of, PlacedAs,
                         testing::Values("llama", "gemma3", "deepseek2", "mamba", "qwen3next",
                                         "qwen3moe", "gpt-oss"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

class ExpertsOnCpu : public testing::TestWithParam<const char*> {};

TEST_P(ExpertsOnCpu, ChangeNoBit) {
  const char* architecture = GetParam();
  ModelOptions header = on_backend("cpu");
  header.inspect = true;
  const size_t layers =
      load_random_placed(architecture, 16, std::move(header))->spec().layers.size();
  // All layers on one device, their experts on another of the same kind.
  ModelOptions options = on_devices("cpu=" + std::to_string(layers) + ",cpu");
  options.experts_on = ExpertsOn::Cpu;
  const auto model = load_random_placed(architecture, 16, std::move(options));
  const PlacedExecutable& executable = model->executable();
  ASSERT_EQ(executable.devices().size(), 2u);
  EXPECT_GE(executable.num_parts(), 3u);
  EXPECT_GT(executable.memory_bytes(TENON_MEMORY_WEIGHTS, 1), 0u);
  for (uint32_t group = 0; group < model->program().groups().size(); ++group) {
    EXPECT_EQ(executable.group_device(group), 0u) << "the cache is where attention is";
  }
  const auto whole = load_random_placed(architecture, 16, on_backend("cpu"));
  EXPECT_TRUE(same_bits(logits_of(model), logits_of(whole)));
  const auto engine = Engine::create(model);
  Session one(engine, SessionOptions{256});
  one.append(make_tokens(40));
  const std::vector<float> bits = last_logits(one);
  const auto fork = one.fork();
  fork->append(make_tokens(9, 3));
  (void)last_logits(*fork);
  fork->rewind(39);
  fork->append(std::vector<Token>{make_tokens(40).back()});
  EXPECT_TRUE(same_bits(last_logits(*fork), bits));
}

TEST_P(ExpertsOnCpu, GoBesideAnyDevice) {
  const char* architecture = GetParam();
  const auto right = logits_of(load_random_placed(architecture, 16, on_backend("reference")));
  ModelOptions options = on_devices("reference");
  options.experts_on = ExpertsOn::Cpu;
  const auto model = load_random_placed(architecture, 16, std::move(options));
  ASSERT_EQ(model->executable().devices().size(), 2u);
  EXPECT_LE(difference(logits_of(model), right), cpu_difference(architecture, right));
}

INSTANTIATE_TEST_SUITE_P(Of, ExpertsOnCpu,
                         testing::Values("qwen3moe", "gpt-oss", "deepseek2", "llama4", "qwen3next"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Placed, AModelWithoutExpertsStaysWhole) {
  ModelOptions options = on_devices("reference");
  options.experts_on = ExpertsOn::Cpu;
  const auto model = load_tiny(four_layers(), std::move(options));
  EXPECT_EQ(model->executable().num_parts(), 1u);
  EXPECT_EQ(model->backend_name(), "reference");
}

TEST(Placed, OneDeviceIsTheSameAsItsBackend) {
  for (const char* backend : {"cpu", "reference"}) {
    const auto named = load_tiny(four_layers(), on_backend(backend));
    const auto listed = load_tiny(four_layers(), on_devices(backend));
    EXPECT_EQ(listed->executable().num_parts(), 1u);
    EXPECT_EQ(listed->executable().steps_under_way(), named->executable().steps_under_way());
    EXPECT_TRUE(same_bits(logits_of(listed), logits_of(named)));
  }
}

TEST(Placed, SessionsInCompanyKeepTheirBits) {
  const auto engine = Engine::create(load_tiny(four_layers(), on_devices("cpu=2,cpu")));
  const auto alone = Engine::create(load_tiny(four_layers(), on_backend("cpu")));
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<BatchItem> items;
  for (uint32_t i = 0; i < 5; ++i) {
    sessions.push_back(std::make_unique<Session>(engine, SessionOptions{256}));
    sessions.back()->append(make_tokens(30 + 7 * i, i));
    sessions.back()->prefill();
  }
  for (uint32_t i = 0; i < 5; ++i) {
    Session one(alone, SessionOptions{256});
    one.append(make_tokens(30 + 7 * i, i));
    EXPECT_TRUE(same_bits(last_logits(*sessions[i]), last_logits(one))) << i;
    EXPECT_EQ(generate(*sessions[i], 6), generate(one, 6)) << i;
  }
}

TEST(Placed, ADeviceThatDrawsDrawsWhatTheHostWould) {
  ModelOptions options = on_delayed({});
  options.backend = "auto";
  options.devices = "reference=2,delayed=2";
  const auto model = load_tiny(four_layers(), std::move(options));
  ASSERT_EQ(model->executable().devices().size(), 2u);
  EXPECT_TRUE(model->executable().draws());
  EXPECT_EQ(model->executable().steps_under_way(), 1u);
  Session session(Engine::create(model), SessionOptions{256});
  session.append(make_tokens(20));
  const auto right = load_tiny(four_layers(), on_devices("reference=2,reference=2"));
  Session other(Engine::create(right), SessionOptions{256});
  other.append(make_tokens(20));
  EXPECT_EQ(generate(session, 12), generate(other, 12));
}

TEST(Placed, AFailedPartEndsItsStepAndTheNextGoesOn) {
  ModelOptions options = on_delayed({.fail_step = 2});
  options.backend = "auto";
  options.devices = "delayed=2,cpu";
  const auto model = load_tiny(four_layers(), std::move(options));
  Session session(Engine::create(model), SessionOptions{256});
  session.append(make_tokens(20));
  session.prefill();
  session.append(make_tokens(5, 2));
  EXPECT_THROW(session.prefill(), Error);
  const std::vector<float> after = last_logits(session);
  Session fresh(Engine::create(model), SessionOptions{256});
  fresh.append(make_tokens(20));
  fresh.append(make_tokens(5, 2));
  EXPECT_TRUE(same_bits(after, last_logits(fresh)));
}

// ---- Placement ----------------------------------------------------------------------------------

TEST(Placed, LayersGoWhereTheOptionsSay) {
  const auto placed = [](ModelOptions options, int64_t gpu_layers = -1) {
    options.gpu_layers = gpu_layers;
    return layers_of(*load_tiny(four_layers(), std::move(options)));
  };
  EXPECT_EQ(placed(on_devices("reference")), "reference 4");
  EXPECT_EQ(placed(on_devices("reference,cpu")), "reference 4");
  EXPECT_EQ(placed(on_devices("cpu")), "cpu 4");
  EXPECT_EQ(placed(on_devices("cpu"), 0), "cpu 4");
  EXPECT_EQ(placed(on_devices("reference"), 0), "cpu 4");
  EXPECT_EQ(placed(on_devices("reference"), 1), "cpu 3, reference 1");
  EXPECT_EQ(placed(on_devices("reference:0"), 3), "cpu 1, reference 3");
  EXPECT_EQ(placed(on_devices("reference:reference"), 3), "cpu 1, reference 3");
  EXPECT_EQ(placed(on_devices("reference"), 4), "reference 4");
  EXPECT_EQ(placed(on_devices("reference"), 65536), "reference 4");
  EXPECT_EQ(placed(on_backend("reference"), 2), "cpu 2, reference 2");
  EXPECT_EQ(placed(on_devices("reference=3,reference=1")), "reference 3, reference 1");
  EXPECT_EQ(placed(on_devices("cpu=3,reference")), "cpu 3, reference 1");
  EXPECT_EQ(placed(on_devices("reference=1,reference=2,cpu")), "cpu 1, reference 1, reference 2");
}

TEST(Placed, HostileOptionsAreRefusedByName) {
  const auto refused = [](Code code, const char* text,
                          const std::function<void(ModelOptions&)>& set) {
    ModelOptions options = on_devices("reference");
    set(options);
    expect_error(code, HasSubstr(text),
                 [&] { (void)load_tiny(four_layers(), std::move(options)); });
  };
  refused(Code::Argument, "gpu_layers is -5, not in -1..65536",
          [](ModelOptions& options) { options.gpu_layers = -5; });
  refused(Code::Argument, "gpu_layers is 65537",
          [](ModelOptions& options) { options.gpu_layers = 65537; });
  const auto devices = [&](Code code, const char* text, std::string value,
                           std::string memory = "") {
    refused(code, text, [&](ModelOptions& options) {
      options.devices = value;
      options.device_memory = memory;
    });
  };
  devices(Code::Argument, "devices: backend: \"nonsense\" is not available", "nonsense");
  devices(Code::Argument, "devices: backend \"reference\" has no device \"7\", but 0 (",
          "reference:7");
  devices(Code::Argument, "devices: backend \"cpu\" has no device \"-1\"", "cpu:-1");
  devices(Code::Argument, "devices: \"reference:\" names no device", "reference:");
  devices(Code::Argument, "devices: \"\" is not BACKEND", "reference,");
  devices(Code::Argument, "devices: \"\" is not BACKEND", ",");
  devices(Code::Argument, "devices: \":0\" is not BACKEND", ":0");
  devices(Code::Argument, "devices: \"cpu=\" ends in no number of layers", "cpu=");
  devices(Code::Argument, "devices: \"cpu=-1\" ends in no number of layers", "cpu=-1");
  devices(Code::Argument, "devices: \"cpu=99999\" ends in no number", "cpu=99999");
  devices(Code::Argument, "devices: 5 layers are asked for, the model has 4", "cpu=2,reference=3");
  devices(Code::Argument, "devices: 65 are named", [] {
    std::string many = "cpu";
    for (int i = 0; i < 64; ++i) many += ",cpu";
    return many;
  }());
  devices(Code::Argument, "device_memory: \"much\" is no whole number", "cpu", "much");
  devices(Code::Argument, "device_memory: \"-1\" is no whole number", "cpu", "-1");
  devices(Code::Argument, "device_memory: 2 sizes for 1 devices", "cpu", "1,2");
  devices(Code::Argument, "device_memory is \"5\", but the option devices names none", "", "5");
  refused(Code::Argument, "option \"backend.colour\": none of the devices has it",
          [](ModelOptions& options) {
            options.backend_options = {{"colour", "red"}};
          });
}

// ---- Memory of devices --------------------------------------------------------------------------

/// Weights, scratch and a session's cache with all layers on one device.
uint64_t whole_bytes(const Model& model) {
  const MemoryNeeds needs = model.memory(256);
  return needs.weights_bytes + needs.scratch_bytes + needs.kv_bytes;
}

TEST(Placed, WhatDoesNotFitGoesToTheCpu) {
  const auto reference = load_tiny(four_layers(), on_backend("reference"));
  const std::vector<float> right = logits_of(reference);
  const double tolerance =
      1.5 * difference(logits_of(load_tiny(four_layers(), on_backend("cpu"))), right);
  const uint64_t whole = whole_bytes(*reference);
  std::vector<std::string> placed;
  for (const double part : {0.05, 0.35, 0.6, 0.8, 1.1}) {
    const auto budget = static_cast<uint64_t>(part * static_cast<double>(whole));
    const auto model = load_tiny(four_layers(), on_devices("reference", std::to_string(budget)));
    const PlacedExecutable& executable = model->executable();
    const auto cache = device_cache_bytes(model->program(), executable, {256, 16, 1});
    for (uint32_t i = 0; i < executable.devices().size(); ++i) {
      if (executable.devices()[i].device->name() != "reference") continue;
      const uint64_t held = executable.memory_bytes(TENON_MEMORY_WEIGHTS, i) +
                            executable.memory_bytes(TENON_MEMORY_SCRATCH, i) + cache[i];
      EXPECT_LE(held, budget) << part;
    }
    placed.push_back(layers_of(*model));
    EXPECT_LE(difference(logits_of(model), right), tolerance);
  }
  EXPECT_EQ(placed.front(), "cpu 4");
  EXPECT_EQ(placed.back(), "reference 4");
  EXPECT_NE(
      std::ranges::find_if(
          placed, [](const std::string& text) { return text.find(", reference ") != text.npos; }),
      placed.end());
}

TEST(Placed, TinyLimitsAreASentence) {
  for (const char* bytes : {"1", "1000", "30000"}) {
    expect_error(Code::NoMemory, HasSubstr("devices: "),
                 [&] { (void)load_tiny(four_layers(), on_devices("cpu", bytes)); });
    expect_error(Code::NoMemory, HasSubstr("devices: "),
                 [&] { (void)load_tiny(four_layers(), on_devices("reference=2,cpu", bytes)); });
    ModelOptions options = on_devices("reference", bytes);
    options.gpu_layers = 3;
    expect_error(Code::NoMemory, HasSubstr("gpu_layers is 3, but 0 of 4 layers at most fit"),
                 [&] { (void)load_tiny(four_layers(), std::move(options)); });
  }
}

TEST(Placed, TheCacheOfADeviceKeepsToItsRoom) {
  const auto roomy = load_tiny(four_layers(), on_devices("reference=2,cpu"));
  const PlacedExecutable& executable = roomy->executable();
  const auto cache = device_cache_bytes(roomy->program(), executable, {256, 16, 1});
  ASSERT_EQ(executable.devices()[1].device->name(), "reference");
  const uint64_t budget = executable.memory_bytes(TENON_MEMORY_WEIGHTS, 1) +
                          executable.memory_bytes(TENON_MEMORY_SCRATCH, 1) + cache[1];
  const auto model =
      load_tiny(four_layers(), on_devices("reference=2,cpu", std::to_string(budget)));
  EXPECT_EQ(model->executable().cache_limit(1), cache[1]);
  const auto engine = Engine::create(model);  // without its own budget
  Session one(engine, SessionOptions{256});
  one.append(make_tokens(250));
  one.prefill();
  Session other(engine, SessionOptions{256});
  other.append(make_tokens(250, 2));
  other.prefill();  // takes the blocks of the first session
  EXPECT_GT(engine->metrics().idle_blocks_taken_total, 0u);
  Session whole(Engine::create(roomy), SessionOptions{256});
  whole.append(make_tokens(250));
  EXPECT_TRUE(same_bits(last_logits(one), last_logits(whole)));
}

TEST(Placed, AStatedBudgetIsEnoughOnEachDevice) {
  for (const char* devices : {"cpu=1,cpu", "cpu=2,cpu", "cpu=3,cpu"}) {
    for (const bool window : {false, true}) {
      const auto model = load_tiny(window ? tiny_window() : four_layers(), on_devices(devices));
      EngineOptions options = unbounded_engine();
      options.cache_bytes = model->memory(256).kv_bytes;
      const auto engine = Engine::create(model, options);
      Session session(engine, SessionOptions{256});
      session.append(make_tokens(250));
      session.prefill();
      EXPECT_EQ(session.stats().prefill_tokens, 250u);
      EXPECT_LE(engine->metrics().kv_held_bytes, options.cache_bytes);
      options.cache_bytes = 100;
      Session none(Engine::create(model, options), SessionOptions{256});
      none.append(make_tokens(20));
      expect_error(Code::NoMemory, HasSubstr("KV cache: needs"), [&] { none.prefill(); });
    }
  }
}

}  // namespace
}  // namespace tenon
