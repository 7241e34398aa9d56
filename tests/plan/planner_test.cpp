#include "plan/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <string>

#include "base/error.h"
#include "model/placed_executable.h"
#include "random_model/random_model.h"
#include "tests/base/temp_folder.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

/// A tiny model of which only the header is readable.
class HeaderSource : public ByteSource {
 public:
  explicit HeaderSource(std::vector<std::byte> bytes)
      : ByteSource("header.gguf", bytes.size()), bytes_(std::move(bytes)) {}
  /// End of the bytes read.
  [[nodiscard]] uint64_t end() const { return end_; }

 private:
  void read_checked(uint64_t offset, std::span<std::byte> out) const override {
    uint64_t end = end_;
    while (end < offset + out.size() && !end_.compare_exchange_weak(end, offset + out.size())) {
    }
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
  }
  std::vector<std::byte> bytes_;
  mutable std::atomic<uint64_t> end_{0};
};

/// A machine with round numbers.
Hardware machine(uint64_t memory_bytes = uint64_t{1} << 40) {
  Hardware hardware;
  hardware.threads = 2;
  hardware.memory_bytes = memory_bytes;
  hardware.process_bytes = 1'000'000;
  return hardware;
}

template <typename Call>
void expect_error(Code code, const std::string& text, Call call) {
  try {
    call();
    ADD_FAILURE() << "did not throw: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(Planner, RefusesWhatCannotBe) {
  const auto model = header_of();
  expect_error(Code::Argument, "context is 2147483648", [&] {
    make_plan(*model, {uint64_t{1} << 31, 1}, machine());
  });
  expect_error(Code::Argument, "sessions is 1048577", [&] {
    make_plan(*model, {64, (uint64_t{1} << 20) + 1}, machine());
  });
  Hardware none = machine();
  none.threads = 0;
  expect_error(Code::Argument, "threads is 0", [&] { make_plan(*model, {}, none); });
  none.threads = 5000;
  expect_error(Code::Argument, "threads is 5000", [&] { make_plan(*model, {}, none); });
  Hardware full = machine();
  full.process_bytes = UINT64_MAX;
  expect_error(Code::Argument, "pass 2^64 bytes", [&] { make_plan(*model, {}, full); });
  for (const double speed : {-1.0, std::nan(""), HUGE_VAL}) {
    Hardware odd = machine();
    odd.decode_bytes_per_second[7] = speed;
    expect_error(Code::Argument, "decode_bytes_per_second is", [&] { make_plan(*model, {}, odd); });
    odd = machine();
    odd.cache_bytes_per_second = speed;
    expect_error(Code::Argument, "cache_bytes_per_second is", [&] { make_plan(*model, {}, odd); });
  }
  ModelOptions vocabulary;
  vocabulary.vocabulary_only = true;
  const auto words = load_tiny({}, std::move(vocabulary));
  expect_error(Code::State, "vocabulary only", [&] { make_plan(*words, {}, machine()); });
  expect_error(Code::State, "vocabulary only", [&] { measure_hardware(*words); });
}

TEST(Planner, LooksForWhatFitsBeyondWhat64BitsCount) {
  // The longest context times the most sessions times the bytes per position exceeds 64 bits.
  TinyModel large;
  large.layers = 8;
  large.heads = large.kv_heads = 16;
  large.key_dim = large.value_dim = 128;
  large.width = 64;
  const auto model = header_of(large);
  const Plan plan = make_plan(*model, {64, uint64_t{1} << 20}, machine(UINT64_MAX));
  EXPECT_TRUE(plan.fits);
  EXPECT_GE(plan.max_context, 64u);
  EXPECT_LT(plan.max_context, uint64_t{1} << 31);
  expect_error(Code::Argument, "pass 2^64 bytes", [&] {
    make_plan(*model, {(uint64_t{1} << 31) - 1, uint64_t{1} << 20}, machine(UINT64_MAX));
  });
}

TEST(Planner, ReadsTheHeaderOnly) {
  const auto source = std::make_shared<HeaderSource>(TinyModel{}.file());
  ModelOptions options;
  options.inspect = true;
  const auto model = load_source(source, std::move(options));
  make_plan(*model, {64, 2}, machine());
  measure_memory(*model);
  uint64_t first = source->size();
  for (const TensorInfo& tensor : model->file().tensors()) first = std::min(first, tensor.offset);
  // Headers are read in pieces of 64 KiB.
  constexpr uint64_t kPiece = 65536;
  ASSERT_GT(source->size(), first + 2 * kPiece);
  EXPECT_LE(source->end(), first + kPiece);
}

TEST(Planner, SizesAreThoseOfTheLoadedModel) {
  for (const char* backend : {"cpu", "reference"}) {
    for (const CacheType cache_type :
         {CacheType::F16, CacheType::F32, CacheType::Int8, CacheType::Q4}) {
      const auto options = [&] {
        ModelOptions made;
        made.backend = backend;
        made.cache_type = cache_type;
        made.slice = 48;
        return made;
      };
      const auto loaded = load_tiny({}, options());
      const Plan plan = make_plan(*header_of({}, options()), {70, 3}, machine());
      const PlacedExecutable& executable = loaded->executable();
      EXPECT_EQ(plan.weights_bytes, executable.memory_bytes(TENON_MEMORY_WEIGHTS)) << backend;
      // Three blocks of 32 positions for each of three sessions.
      EXPECT_EQ(plan.kv_bytes, 9 * executable.block_bytes(0))
          << backend << " " << info_of(cache_type).name;
      // Also the logits of a step of three.
      EXPECT_EQ(plan.scratch_bytes, executable.memory_bytes(TENON_MEMORY_SCRATCH) + 3 * 300 * 4);
      // Plans of loaded and unloaded models are equal.
      EXPECT_EQ(make_plan(*loaded, {70, 3}, machine()).total_bytes, plan.total_bytes);
    }
  }
}

TEST(Planner, EachDeviceIsAsLoaded) {
  TinyModel tiny;
  tiny.layers = 4;
  for (const char* devices : {"reference=1,cpu", "reference=3,cpu", "cpu=2,cpu"}) {
    const auto options = [&](const std::string& memory = "") {
      ModelOptions made;
      made.devices = devices;
      made.device_memory = memory;
      made.slice = 48;
      made.context = 70;
      return made;
    };
    const auto loaded = load_tiny(tiny, options());
    const PlacedExecutable& executable = loaded->executable();
    const Plan plan = make_plan(*header_of(tiny, options()), {70, 3}, machine());
    const auto cache = device_cache_bytes(loaded->program(), executable, {70, 48, 3});
    ASSERT_EQ(plan.devices.size(), 2u);
    for (uint32_t i = 0; i < 2; ++i) {
      const DevicePlan& device = plan.devices[i];
      EXPECT_EQ(device.backend, executable.devices()[i].device->name());
      EXPECT_EQ(device.weights_bytes, executable.memory_bytes(TENON_MEMORY_WEIGHTS, i));
      EXPECT_EQ(device.scratch_bytes, executable.memory_bytes(TENON_MEMORY_SCRATCH, i));
      EXPECT_EQ(device.kv_bytes, cache[i]);
      EXPECT_TRUE(device.fits);
    }
    EXPECT_EQ(plan.devices[0].layers + plan.devices[1].layers, 4u);
    EXPECT_EQ(plan.scratch_bytes,
              executable.memory_bytes(TENON_MEMORY_SCRATCH) + 3 * 300 * sizeof(float));
    EXPECT_TRUE(plan.fits);
    // Room for exactly one session.
    const auto one = device_cache_bytes(loaded->program(), executable, {70, 48, 1});
    const uint64_t room = plan.devices[1].weights_bytes + plan.devices[1].scratch_bytes + one[1];
    const Plan narrow =
        make_plan(*header_of(tiny, options(std::to_string(room))), {70, 3}, machine());
    EXPECT_FALSE(narrow.fits) << devices;
    EXPECT_FALSE(narrow.devices[1].fits);
    EXPECT_TRUE(narrow.devices[0].fits);
    EXPECT_LT(narrow.max_sessions, 3u);
    EXPECT_GE(narrow.max_sessions, 1u);
    EXPECT_LT(narrow.max_context, 70u);
  }
}

TEST(Planner, NamesTheLayersThatWouldFit) {
  TinyModel tiny;
  tiny.layers = 4;
  ModelOptions options;
  options.devices = "reference";
  options.slice = 48;
  options.context = 70;
  const auto whole = make_plan(*header_of(tiny, std::move(options)), {70, 1}, machine());
  ModelOptions three;
  three.devices = "reference";
  three.device_memory = std::to_string(whole.devices[0].total_bytes * 9 / 10);
  three.gpu_layers = -1;
  three.slice = 48;
  three.context = 70;
  const Plan plan = make_plan(*header_of(tiny, std::move(three)), {70, 200}, machine());
  EXPECT_EQ(plan.devices.size(), 2u);
  EXPECT_FALSE(plan.fits);
  EXPECT_GE(plan.fitting_gpu_layers, 0);
  EXPECT_LT(plan.fitting_gpu_layers, static_cast<int64_t>(plan.devices[1].layers));
}

TEST(Planner, CountsARowCacheInPlaceOfTablesInTheFile) {
  TinyModel tiny;
  tiny.tied = false;
  const auto options = [](Switch on_demand) {
    ModelOptions made;
    made.slice = 48;
    made.rows_on_demand = on_demand;
    made.row_cache_bytes = 5000;
    return made;
  };
  const auto held = header_of(tiny, options(Switch::Off));
  const auto fetched = header_of(tiny, options(Switch::On));
  const Plan plan = make_plan(*fetched, {70, 3}, machine());
  const auto loaded = load_tiny(tiny, options(Switch::On));
  EXPECT_EQ(plan.weights_bytes, loaded->memory(70).weights_bytes);
  EXPECT_EQ(plan.scratch_bytes, loaded->memory(70).scratch_bytes + 3 * 300 * 4);
  const uint64_t table = table_bytes(fetched->trunk().tables);
  EXPECT_LE(plan.weights_bytes,
            make_plan(*held, {70, 3}, machine()).weights_bytes - table + 5000 + 64);
}

TEST(Planner, CountsAnEncoderBesideItsDecoder) {
  const TempFolder folder;
  write_random_model(System::real(), folder.path("m"), "tiny-t5", "q8_0");
  const auto open = [&](bool inspect) {
    ModelOptions options;
    options.inspect = inspect;
    options.threads = 2;
    options.slice = 48;
    return Model::load(folder.path("m"), std::move(options));
  };
  const Plan plan = make_plan(*open(true), {70, 3}, machine());
  const auto loaded = open(false);
  const MemoryNeeds needs = loaded->memory(70);
  EXPECT_EQ(plan.weights_bytes, needs.weights_bytes);
  EXPECT_EQ(plan.scratch_bytes, needs.scratch_bytes + 3 * loaded->spec().vocab * sizeof(float));
  EXPECT_GT(plan.weights_bytes, loaded->executable().memory_bytes(TENON_MEMORY_WEIGHTS) * 3 / 2);
}

TEST(Planner, CountsTheCacheOfAnEmbedderBesideAnEngine) {
  const auto open = [](Embeddings embeddings, bool inspect) {
    ModelOptions options;
    options.embeddings = embeddings;
    options.inspect = inspect;
    options.threads = 2;
    options.slice = 48;
    options.context = 200;
    return load_tiny({}, std::move(options));
  };
  const Plan plan = make_plan(*open(Embeddings::Also, true), {70, 3}, machine());
  const MemoryNeeds needs = open(Embeddings::Also, false)->memory(70);
  EXPECT_EQ(plan.weights_bytes, needs.weights_bytes);
  EXPECT_EQ(plan.scratch_bytes, needs.scratch_bytes + 3 * 300 * 4);
  const Plan without = make_plan(*open(Embeddings::Off, true), {70, 3}, machine());
  EXPECT_EQ(plan.weights_bytes, without.weights_bytes);
  EXPECT_EQ(plan.kv_bytes, without.kv_bytes);
  EXPECT_GT(plan.scratch_bytes, without.scratch_bytes);
}

TEST(Planner, AllExpertsTakeMemoryThoseOfATokenTakeTime) {
  TinyModel tiny;
  tiny.architecture = "qwen3moe";
  tiny.formats = {Format::Q8_0};
  const auto plan_of = [&](uint32_t experts) {
    tiny.experts = experts;
    return make_plan(*header_of(tiny), {70, 3}, machine());
  };
  const auto work_of = [&](uint32_t experts) {
    tiny.experts = experts;
    return header_of(tiny)->step_work();
  };
  const uint64_t expert = 3 * 160 * 96;
  const uint64_t router_rows = 12 * 96;  // of two layers each
  EXPECT_GE(plan_of(16).weights_bytes - plan_of(4).weights_bytes, 2 * 12 * expert);
  EXPECT_EQ(work_of(16).weight_bytes - work_of(4).weight_bytes, 2 * 4 * router_rows);
  EXPECT_EQ(work_of(16).token_multiplications - work_of(4).token_multiplications, router_rows);
  tiny.experts = 16;
  ModelOptions options;
  options.threads = 2;
  const auto loaded = load_tiny(tiny, std::move(options));
  EXPECT_EQ(plan_of(16).scratch_bytes,
            loaded->executable().memory_bytes(TENON_MEMORY_SCRATCH) + 3 * 300 * 4);
}

TEST(Planner, KindsAddUp) {
  const auto model = header_of();
  // Enough sessions to exceed the memory of loading.
  const Plan plan = make_plan(*model, {250, 200}, machine());
  EXPECT_EQ(plan.context, 250u);
  EXPECT_EQ(plan.process_bytes, 1'000'000u);
  EXPECT_EQ(plan.total_bytes, plan.process_bytes + plan.weights_bytes + plan.scratch_bytes +
                                  200 * plan.session_bytes);
  EXPECT_GT(plan.session_bytes, plan.kv_bytes / 200);
  EXPECT_TRUE(plan.fits);
  EXPECT_EQ(plan.fitting_cache_type, "f16");
  const Plan usual = make_plan(*model, {}, machine());
  EXPECT_EQ(usual.context, 256u);  // the training context
  EXPECT_EQ(usual.sessions, 1u);
  EXPECT_EQ(usual.decode_tokens_per_second, 0);
}

TEST(Planner, SaysWhatWouldFit) {
  const auto model = header_of();
  const PlanRequest wanted{4096, 40};
  const uint64_t all = make_plan(*model, wanted, machine()).total_bytes;
  const Hardware small = machine(all * 2 / 3);
  const Plan plan = make_plan(*model, wanted, small);
  EXPECT_FALSE(plan.fits);
  ASSERT_GT(plan.max_context, 0u);
  EXPECT_TRUE(make_plan(*model, {plan.max_context, 40}, small).fits);
  EXPECT_FALSE(make_plan(*model, {plan.max_context + 1, 40}, small).fits);
  ASSERT_GT(plan.max_sessions, 0u);
  EXPECT_TRUE(make_plan(*model, {4096, plan.max_sessions}, small).fits);
  EXPECT_FALSE(make_plan(*model, {4096, plan.max_sessions + 1}, small).fits);
  ASSERT_EQ(plan.fitting_cache_type, "int8");
  ModelOptions other;
  other.cache_type = CacheType::Int8;
  EXPECT_TRUE(make_plan(*header_of({}, std::move(other)), wanted, small).fits);
  EXPECT_TRUE(make_plan(*model, wanted, machine(all)).fits);
  EXPECT_FALSE(make_plan(*model, wanted, machine(all - 1)).fits);
}

TEST(Planner, SaysWhenNothingFits) {
  const Plan plan = make_plan(*header_of(), {64, 1}, machine(2'000'000));
  EXPECT_FALSE(plan.fits);
  EXPECT_EQ(plan.max_context, 0u);
  EXPECT_EQ(plan.max_sessions, 0u);
  EXPECT_EQ(plan.fitting_cache_type, "");
}

TEST(Planner, SpeedsFollowFromTheMachine) {
  const auto model = header_of();
  const auto bytes = static_cast<double>(model->step_work().weight_bytes);
  Hardware hardware = machine();
  // A step of one sequence takes 10 ms, of two 12, of four 16.
  hardware.decode_bytes_per_second = {bytes / 0.010, bytes / 0.012, bytes / 0.016, bytes / 0.024,
                                      bytes / 0.040, bytes / 0.072, bytes / 0.136, bytes / 0.264};
  const auto decode = [&](uint64_t sessions) {
    return make_plan(*model, {96, sessions}, hardware).decode_tokens_per_second;
  };
  EXPECT_NEAR(decode(1), 1 / 0.010, 1e-6);
  EXPECT_NEAR(decode(2), 2 / 0.012, 1e-6);
  EXPECT_GT(decode(3), 3 / 0.016);
  EXPECT_LT(decode(3), 3 / 0.012);
  EXPECT_NEAR(decode(256), 128 / 0.264, 1e-6);
  // Three blocks of cache in another 10 ms.
  const Plan plan = make_plan(*model, {96, 1}, hardware);
  hardware.cache_bytes_per_second = static_cast<double>(plan.kv_bytes) / 0.010;
  EXPECT_NEAR(decode(1), 1 / 0.020, 1e-6);
  const auto multiplications = static_cast<double>(model->step_work().token_multiplications);
  hardware.prefill_multiplications_per_second = multiplications * 1000;
  EXPECT_NEAR(make_plan(*model, {96, 1}, hardware).prefill_tokens_per_second, 1000, 1e-6);
  // Two layers of three heads: 32 for a key's score, 32 for its value. A token sees 48 positions on
  // average.
  hardware.attention_multiplications_per_second = 2 * 3 * 64 * 48 * 1000;
  EXPECT_NEAR(make_plan(*model, {96, 1}, hardware).prefill_tokens_per_second, 500, 1e-6);
}

TEST(Planner, StatesTakeTimeAsMatricesDo) {
  const TempFolder folder;
  write_random_model(System::real(), folder.path("m"), "tiny-mamba2", "q8_0");
  ModelOptions options;
  options.inspect = true;
  options.threads = 2;
  const auto model = Model::load(folder.path("m"), std::move(options));
  const auto matrices = static_cast<double>(model->step_work().weight_bytes);
  // A text of two tokens keeps the state that the second token reads and the state it writes.
  const auto states = static_cast<double>(make_plan(*model, {2, 1}, machine()).kv_bytes);
  Hardware hardware = machine();
  hardware.decode_bytes_per_second.fill(1e9);
  hardware.cache_bytes_per_second = 1e3;  // of positions, of which there are none
  for (const uint64_t context : {1, 512}) {
    for (const uint64_t sessions : {1, 8}) {
      const auto count = static_cast<double>(sessions);
      EXPECT_DOUBLE_EQ(make_plan(*model, {context, sessions}, hardware).decode_tokens_per_second,
                       count / ((matrices + count * states) / 1e9));
    }
  }
}

TEST(Hardware, IsMeasuredWithTheKernelsOfTheModel) {
  TinyModel tiny;
  tiny.layers = 3;
  const auto model = header_of(tiny);
  const Hardware memory = measure_memory(*model);
  EXPECT_EQ(memory.threads, 2u);
  EXPECT_GT(memory.process_bytes, uint64_t{1} << 20);
  EXPECT_GT(memory.memory_bytes, memory.process_bytes);
  EXPECT_EQ(memory.prefill_multiplications_per_second, 0);
  const Hardware hardware = measure_hardware(*model);
  for (const double rate : hardware.decode_bytes_per_second) {
    EXPECT_GT(rate, 0);
    EXPECT_TRUE(std::isfinite(rate));
  }
  EXPECT_GT(hardware.prefill_multiplications_per_second, 0);
  EXPECT_GT(make_plan(*model, {}, hardware).decode_tokens_per_second, 0);
}

TEST(Hardware, IsMeasuredForEncoderDecoders) {
  const TempFolder folder;
  write_random_model(System::real(), folder.path("m"), "tiny-t5", "q8_0");
  ModelOptions options;
  options.inspect = true;
  options.threads = 2;
  const auto model = Model::load(folder.path("m"), std::move(options));
  const Hardware hardware = measure_hardware(*model);
  for (const double rate : hardware.decode_bytes_per_second) EXPECT_GT(rate, 0);
  EXPECT_GT(make_plan(*model, {}, hardware).decode_tokens_per_second, 0);
}

}  // namespace
}  // namespace tenon
