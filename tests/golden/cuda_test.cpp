// A model on the plugin `cuda` over its emulator, and a driver that fails at each call.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/placed_executable.h"
#include "tests/backends/cuda/emulator/fake_cuda.h"
#include "tests/engine/tiny_engine.h"
#include "tests/golden/device_plan.h"
#include "tests/golden/golden.h"
#include "tests/golden/golden_model.h"

namespace tenon::golden {
namespace {

ModelOptions on_cuda() {
  ModelOptions options;
  options.plugin_paths = {TENON_CUDA_PLUGIN};
  options.backend = "cuda";
  options.cache_type = CacheType::F32;
  options.threads = 1;
  return options;
}

/// Controls the driver; resets its failures on destruction.
class FakeDriver {
 public:
  FakeDriver()
      : library_(dlopen(TENON_FAKE_DRIVER, RTLD_NOW)),
        control_(
            reinterpret_cast<cuda::fake::Control* (*)()>(dlsym(library_, "tenon_fake_cuda"))()) {}
  ~FakeDriver() {
    control_->fail_call = control_->fail_allocation = control_->fail_launch = 0;
    control_->spoilt_kernel = {};
    control_->refuses_spoilt = false;
    control_->major = 9;
    dlclose(library_);
  }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  cuda::fake::Control* operator->() const { return control_; }
  cuda::fake::Control& operator*() const { return *control_; }

 private:
  void* library_;
  cuda::fake::Control* control_;
};

/// Logits of the first `count` tokens.
std::vector<float> logits_of(const GoldenModel& golden, size_t count) {
  Session session(Engine::create(load_source(golden.source(), on_cuda())));
  std::vector<Token> tokens = golden.tokens();
  tokens.resize(count);
  return evaluate_all(session, tokens);
}

/// A model with weights of all formats of matrix instructions.
class CudaUnits : public testing::Test {
 protected:
  /// Activations are f16: twice the conformance suite's tolerance.
  static constexpr double kMaxRmse = 1.3e-3;

  CudaUnits() : file_(tiny_source(tiny_of_unit_formats())) {}

  Session session_in_slices(const char* backend, uint32_t slice) {
    ModelOptions options = on_cuda();
    options.backend = backend;
    options.slice = slice;
    options.log.write = [](void* text, int32_t, const char* line, size_t) {
      static_cast<std::string*>(text)->append(line).append("\n");
    };
    options.log.user = &log_;
    return Session(Engine::create(load_source(file_, std::move(options))));
  }
  std::vector<float> logits_in_slices(const char* backend, uint32_t slice) {
    Session session = session_in_slices(backend, slice);
    return evaluate_all(session, make_tokens(37));
  }

  const FakeDriver driver_;  // a sanitizer's dlopen ignores a module's search path
  std::shared_ptr<const ByteSource> file_;
  std::string log_;
};

/// Sliced results are near the reference, with equal bits for all slices.
TEST_F(CudaUnits, HaveTheSameBitsInAnySlices) {
  const std::vector<float> whole = logits_in_slices("cuda", 64);
  EXPECT_LE(relative_rmse(whole, logits_in_slices("reference", 64)), kMaxRmse);
  for (const uint32_t slice : {1u, 7u, 20u}) {
    EXPECT_TRUE(same_bits(logits_in_slices("cuda", slice), whole)) << slice;
  }
  EXPECT_THAT(log_, testing::Not(testing::HasSubstr("self-test")));
}

/// Warpgroup products (compute capability 9.0, steps of more than 64 tokens) give the bits of
/// warps.
TEST_F(CudaUnits, HaveTheSameBitsByWarpgroups) {
  const std::vector<Token> tokens = make_tokens(70);
  const auto logits = [&](const char* spoilt) {
    Session session = session_in_slices("cuda", 128);
    std::ranges::copy(std::string_view(spoilt), driver_->spoilt_kernel.begin());
    std::vector<float> values = evaluate_all(session, tokens);
    driver_->spoilt_kernel = {};
    return values;
  };
  const std::vector<float> by_warpgroups = logits("");
  EXPECT_THAT(log_, testing::Not(testing::HasSubstr("self-test")));
  EXPECT_FALSE(same_bits(logits("tenon_linear_warpgroup"), by_warpgroups)) << "they are used";
  driver_->major = 8;
  EXPECT_TRUE(same_bits(logits("tenon_linear_warpgroup"), by_warpgroups));
}

/// A kernel family that computes nothing or cannot be launched is detected before a model uses it:
/// the log reports it, and answers equal those of other kernels.
TEST_F(CudaUnits, AreNotUsedWhereTheirSelfTestFails) {
  struct Family {
    const char* kernel;
    int64_t groups;  // in failing launches
    const char* name;
  };
  const std::vector<float> reference = logits_in_slices("reference", 20);
  for (const Family family :
       {Family{"tenon_linear_narrow_q4_k", 0, "products of q4_K weights in units"},
        Family{"tenon_linear_wide_q8_0", 0, "products of q8_0 weights in units"},
        Family{"tenon_linear_wide", 0, "products of f16 weights in units"},
        Family{"tenon_linear_warpgroup_q6_k", 0, "products of q6_K weights by warpgroups"},
        Family{"tenon_attention", 16, "attention that groups share"}}) {
    for (const bool refuses : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, {}", family.kernel, refuses));
      driver_->spoilt_kernel = {};
      std::ranges::copy(std::string_view(family.kernel), driver_->spoilt_kernel.begin());
      driver_->spoilt_groups = family.groups;
      driver_->refuses_spoilt = refuses;
      log_.clear();
      EXPECT_LE(relative_rmse(logits_in_slices("cuda", 20), reference), kMaxRmse);
      const std::string fault = refuses ? fmt::format("{}: {}", family.name, family.kernel)
                                        : fmt::format("{}: wrong results", family.name);
      EXPECT_THAT(log_, testing::HasSubstr("self-test: " + fault));
    }
  }
}

class CudaFaults : public testing::Test {
 protected:
  /// Error of loading a model and computing a few tokens; empty on success.
  static std::string failure(const GoldenModel& golden) {
    try {
      static_cast<void>(logits_of(golden, 4));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  /// Sets `fault` to each of 1 .. count in turn; from the thirtieth on to every `stride`-th.
  void fail_each(int64_t cuda::fake::Control::*fault, int64_t count, int64_t stride) {
    const GoldenModel golden("llama");
    const std::vector<float> expected = logits_of(golden, 4);
    int64_t objects = control_->objects;
    int failures = 0;
    int tried = 0;
    for (int64_t n = 1; n <= count; n += n < 30 ? 1 : stride, ++tried) {
      SCOPED_TRACE(n);
      (*control_).*fault = n;
      const std::string said = failure(golden);
      (*control_).*fault = 0;
      if (said.empty()) {  // a call that frees something, which the driver then keeps
        objects = control_->objects;
        continue;
      }
      ++failures;
      EXPECT_THAT(said, testing::HasSubstr("CUDA_ERROR_"));
      EXPECT_EQ(control_->objects, objects) << "what was made is gone: " << said;
    }
    EXPECT_GT(failures, tried / 2);
    EXPECT_TRUE(same_bits(logits_of(golden, 4), expected)) << "a new device works";
  }

  FakeDriver control_;
};

TEST_F(CudaFaults, OfAnyCallAreErrors) {
  const GoldenModel golden("llama");
  const int64_t before = control_->calls;
  ASSERT_EQ(failure(golden), "");
  const int64_t calls = control_->calls - before;
  ASSERT_GT(calls, 100);
  fail_each(&cuda::fake::Control::fail_call, calls, calls / 60);
}

TEST_F(CudaFaults, OfAnyAllocationAreErrors) {
  const GoldenModel golden("llama");
  const int64_t before = control_->allocations;
  ASSERT_EQ(failure(golden), "");
  fail_each(&cuda::fake::Control::fail_allocation, control_->allocations - before, 1);
}

TEST_F(CudaFaults, ADeviceThatIsLostIsAnErrorAndCanBeHadAgain) {
  const GoldenModel golden("llama");
  const int64_t before = control_->launches;
  ASSERT_EQ(failure(golden), "");
  const int64_t launches = control_->launches - before;
  ASSERT_GT(launches, 20);
  fail_each(&cuda::fake::Control::fail_launch, launches, 5);
}

/// A session of a lost device reports the loss on each call; a new device works beside it.
TEST_F(CudaFaults, ASessionOfALostDeviceSaysSoAndTheProcessGoesOn) {
  const GoldenModel golden("llama");
  const std::vector<float> expected = logits_of(golden, 4);
  const auto engine = Engine::create(load_source(golden.source(), on_cuda()));
  const std::vector<Token> tokens = golden.tokens();
  control_->fail_launch = 1;
  for (int i = 0; i < 3; ++i) {
    try {
      Session session(engine);
      session.append(std::span(tokens).first(4));
      static_cast<void>(generate(session, 1));
      ADD_FAILURE() << "a lost device computes";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::State);
      EXPECT_THAT(error.what(), testing::HasSubstr("lost"));
    }
  }
  EXPECT_TRUE(same_bits(logits_of(golden, 4), expected)) << "a new device works";
}

/// Codebook tables and allocation rounding are not part of any figure.
TEST_F(CudaFaults, ADeviceHoldsWhatItsModelSays) {
  const int64_t before = control_->bytes_now;
  control_->bytes_peak = before;
  const auto model =
      Model::load(TENON_TEST_DATA_DIR "/../../examples/models/demo-q8_0.gguf", on_cuda());
  const PlacedExecutable& executable = model->executable();
  const auto said = static_cast<double>(executable.memory_bytes(TENON_MEMORY_WEIGHTS) +
                                        executable.memory_bytes(TENON_MEMORY_SCRATCH));
  EXPECT_NEAR(static_cast<double>(control_->bytes_now - before), said, 0.03 * said);
  EXPECT_NEAR(static_cast<double>(control_->bytes_peak - before), said, 0.03 * said);
}

TEST_F(CudaFaults, ThePeakOfADeviceIsThatOfItsPlan) {
  const DeviceBytes bytes{[this] { return control_->bytes_now; },
                          [this] { return control_->bytes_peak; },
                          [this] { control_->bytes_peak = control_->bytes_now; }};
  expect_peak_of_plan(on_cuda, bytes);
}

}  // namespace
}  // namespace tenon::golden
