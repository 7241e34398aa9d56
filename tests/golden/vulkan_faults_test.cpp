// A model on the plugin `vulkan` over a driver that fails at each call: an error with a sentence,
// no leaks, and a new device with equal bits. Skipped without a driver.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "model/placed_executable.h"
#include "tests/base/temp_folder.h"
#include "tests/engine/tiny_engine.h"
#include "tests/golden/device_plan.h"
#include "tests/golden/golden.h"
#include "tests/golden/golden_model.h"

#ifdef TENON_VULKAN_PLUGIN
#include "tests/backends/vulkan/loader/faulty_loader.h"

namespace tenon::golden {
namespace {

constexpr int32_t kOutOfHostMemory = -1;  // a VkResult
constexpr int32_t kOutOfDeviceMemory = -2;
constexpr int32_t kInitializationFailed = -3;
constexpr int32_t kDeviceLost = -4;

ModelOptions on_faulty_vulkan() {
  ModelOptions options;
  options.plugin_paths = {TENON_VULKAN_PLUGIN};
  options.backend = "vulkan";
  options.backend_options = {{"memory_limit", "100000000"}};
  options.cache_type = CacheType::F32;
  options.threads = 1;
  return options;
}

class VulkanFaults : public testing::Test {
 protected:
  VulkanFaults()
      : library_(dlopen(TENON_FAULTY_LOADER, RTLD_NOW | RTLD_NODELETE)),
        control_(reinterpret_cast<vulkan::faulty::Control* (*)()>(
            dlsym(library_, "tenon_faulty_vulkan"))()) {}
  ~VulkanFaults() override {
    control_->fail_call = 0;
    control_->function = nullptr;
    control_->hidden = nullptr;
    control_->matrices = vulkan::faulty::Matrices::None;
    dlclose(library_);
  }
  void SetUp() override {
    try {
      expected_ = logits();
    } catch (const Error& error) {
      if (error.code() != Code::Unsupported) throw;
      GTEST_SKIP() << error.what();
    }
    objects_ = control_->objects;
    ASSERT_EQ(objects_, 0) << "all that was made is gone";
  }

  [[nodiscard]] std::vector<float> logits() const {
    Session session(Engine::create(load_source(golden_.source(), on_faulty_vulkan())));
    std::vector<Token> tokens = golden_.tokens();
    tokens.resize(4);
    return evaluate_all(session, tokens);
  }
  /// Error of loading the model and computing a few tokens; empty on success.
  [[nodiscard]] std::string failure() const {
    try {
      static_cast<void>(logits());
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  /// Number of calls of the function in that; null: of all functions that can fail.
  [[nodiscard]] int64_t calls_of(const char* function) const {
    control_->function = function;
    control_->calls = 0;
    EXPECT_EQ(failure(), "");
    return control_->calls;
  }

  /// Fails calls 1, 1 + stride, ... of `function`.
  void fail_each(const char* function, int32_t result, int64_t stride, const char* word) const {
    SCOPED_TRACE(function == nullptr ? "any" : function);
    const int64_t calls = calls_of(function);
    ASSERT_GT(calls, 0);
    for (int64_t n = 1; n <= calls; n += stride) {
      SCOPED_TRACE(n);
      control_->result = result;
      control_->fail_call = n;
      const std::string said = failure();
      ASSERT_EQ(control_->fail_call, 0) << "the call was made";
      EXPECT_THAT(said, testing::HasSubstr(word));
      EXPECT_EQ(control_->objects, objects_) << "what was made is gone: " << said;
      EXPECT_EQ(control_->bytes_now, 0);
    }
    EXPECT_TRUE(same_bits(logits(), expected_)) << "a new device works";
  }

  const GoldenModel golden_{"llama"};
  void* library_;
  vulkan::faulty::Control* control_;
  std::vector<float> expected_;
  int64_t objects_ = 0;
};

/// A model with weights of all matrix formats, over a driver that pretends to have matrices.
class VulkanMatrices : public VulkanFaults {
 protected:
  /// Activations are f16: twice the conformance suite's tolerance.
  static constexpr double kMaxRmse = 1.3e-3;

  VulkanMatrices() : file_(tiny_source(tiny_of_unit_formats())) {}

  std::vector<float> logits_in_slices(const char* products, uint32_t slice) {
    ModelOptions options = on_faulty_vulkan();
    options.backend_options.emplace_back("products", products);
    options.slice = slice;
    options.log.write = [](void* text, int32_t, const char* line, size_t) {
      static_cast<std::string*>(text)->append(line).append("\n");
    };
    options.log.user = &log_;
    Session session(Engine::create(load_source(file_, std::move(options))));
    return evaluate_all(session, make_tokens(21));
  }

  std::shared_ptr<const ByteSource> file_;
  std::string log_;
};

/// f16 results are near f32 but not equal; slices change nothing.
TEST_F(VulkanMatrices, MultiplyWeightsInUnits) {
  const std::vector<float> plain = logits_in_slices("f32", 21);
  const std::vector<float> emulated = logits_in_slices("emulated", 21);
  EXPECT_LE(relative_rmse(emulated, plain), kMaxRmse);
  EXPECT_FALSE(same_bits(emulated, plain));
  EXPECT_TRUE(same_bits(logits_in_slices("emulated", 7), emulated));
  control_->matrices = vulkan::faulty::Matrices::Emulated;
  EXPECT_TRUE(same_bits(logits_in_slices("auto", 21), emulated));
  EXPECT_TRUE(same_bits(logits_in_slices("f32", 21), plain));
  EXPECT_THAT(log_, testing::Not(testing::HasSubstr("self-test")));
}

/// f32 serves if a driver makes no matrix pipeline or lacks the shape.
TEST_F(VulkanMatrices, AreNotUsedWhereTheyDoNotWork) {
  const std::vector<float> plain = logits_in_slices("f32", 21);
  control_->matrices = vulkan::faulty::Matrices::OfOtherShapes;
  EXPECT_TRUE(same_bits(logits_in_slices("auto", 21), plain));
  EXPECT_THAT(log_, testing::Not(testing::HasSubstr("self-test")));
  control_->matrices = vulkan::faulty::Matrices::Refused;
  EXPECT_TRUE(same_bits(logits_in_slices("auto", 21), plain));
  for (const char* format : {"f16", "q8_0", "q4_K", "q6_K"}) {
    EXPECT_THAT(log_,
                testing::HasSubstr(fmt::format(
                    "self-test: products of {} weights in units: vkCreateShaderModule", format)));
  }
}

TEST_F(VulkanFaults, OfAllocationsAreErrors) {
  fail_each("AllocateMemory", kOutOfDeviceMemory, 1, "VK_ERROR_OUT_OF_DEVICE_MEMORY");
  fail_each("CreateBuffer", kOutOfHostMemory, 2, "VK_ERROR_OUT_OF_HOST_MEMORY");
  fail_each("MapMemory", kOutOfHostMemory, 2, "VK_ERROR_OUT_OF_HOST_MEMORY");
  fail_each("BindBufferMemory", kOutOfDeviceMemory, 2, "VK_ERROR_OUT_OF_DEVICE_MEMORY");
}

TEST_F(VulkanFaults, OfPipelinesAreErrors) {
  fail_each("CreateComputePipelines", kOutOfHostMemory, 1, "vkCreateComputePipelines");
  fail_each("CreateShaderModule", kOutOfDeviceMemory, 4, "vkCreateShaderModule");
}

TEST_F(VulkanFaults, OfCommandsAreErrors) {
  fail_each("AllocateCommandBuffers", kOutOfHostMemory, 1, "vkAllocateCommandBuffers");
  fail_each("BeginCommandBuffer", kOutOfHostMemory, 3, "vkBeginCommandBuffer");
  fail_each("EndCommandBuffer", kOutOfDeviceMemory, 3, "vkEndCommandBuffer");
}

/// Missing memory is not a lost device: the driver took no work, and earlier work continues.
TEST_F(VulkanFaults, OfSubmissionsAreErrors) {
  fail_each("QueueSubmit", kOutOfHostMemory, 2, "VK_ERROR_OUT_OF_HOST_MEMORY");
}

TEST_F(VulkanFaults, OfMakingAnInstanceOrADeviceAreErrors) {
  for (const char* function :
       {"CreateInstance", "EnumeratePhysicalDevices", "CreateDevice", "CreateCommandPool",
        "CreateSemaphore", "CreatePipelineLayout", "CreatePipelineCache"}) {
    fail_each(function, kOutOfHostMemory, 1, "VK_ERROR_OUT_OF_HOST_MEMORY");
  }
  fail_each("CreateDevice", kInitializationFailed, 1, "VK_ERROR_INITIALIZATION_FAILED");
}

TEST_F(VulkanFaults, ADeviceThatIsLostIsAnErrorAndCanBeHadAgain) {
  fail_each("QueueSubmit", kDeviceLost, 1, "lost");
  fail_each("WaitSemaphores", kDeviceLost, 1, "lost");
}

TEST_F(VulkanFaults, OfAnyCallAreErrors) {
  const int64_t calls = calls_of(nullptr);
  ASSERT_GT(calls, 100);
  fail_each(nullptr, kOutOfHostMemory, 7, "VK_ERROR_OUT_OF_HOST_MEMORY");
}

/// A driver without these functions can only be unloaded.
TEST_F(VulkanFaults, FunctionsThatTheDriverLacksAreErrors) {
  for (const char* hidden : {"vkDeviceWaitIdle", "vkDestroyPipeline", "vkFreeMemory",
                             "vkDestroyCommandPool", "vkCmdDispatchIndirect"}) {
    SCOPED_TRACE(hidden);
    control_->hidden = hidden;
    EXPECT_THAT(failure(), testing::HasSubstr("the driver lacks functions of Vulkan 1.2"));
    EXPECT_EQ(control_->objects, objects_);
  }
  control_->hidden = nullptr;
  EXPECT_TRUE(same_bits(logits(), expected_));
}

/// A session of a lost device reports the loss on each call; other sessions continue.
TEST_F(VulkanFaults, ASessionOfALostDeviceSaysSoAndTheProcessGoesOn) {
  const auto engine = Engine::create(load_source(golden_.source(), on_faulty_vulkan()));
  const std::vector<Token> tokens = golden_.tokens();
  {
    Session session(engine);
    session.append(std::span(tokens).first(4));
    control_->function = "QueueSubmit";
    control_->result = kDeviceLost;
    control_->fail_call = 1;
    EXPECT_THROW(static_cast<void>(generate(session, 1)), Error);
    for (int i = 0; i < 2; ++i) {
      try {
        Session other(engine);
        other.append(std::span(tokens).first(4));
        static_cast<void>(generate(other, 1));
        ADD_FAILURE() << "a lost device computes";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::State);
        EXPECT_THAT(error.what(), testing::HasSubstr("lost"));
      }
    }
  }
  EXPECT_TRUE(same_bits(logits(), expected_)) << "beside the lost device a new one works";
}

/// Codebook tables and allocation rounding are not part of any figure.
TEST_F(VulkanFaults, ADeviceHoldsWhatItsModelSays) {
  control_->bytes_peak = 0;
  const auto model =
      Model::load(TENON_TEST_DATA_DIR "/../../examples/models/demo-q8_0.gguf", on_faulty_vulkan());
  const PlacedExecutable& executable = model->executable();
  const auto said = static_cast<double>(executable.memory_bytes(TENON_MEMORY_WEIGHTS) +
                                        executable.memory_bytes(TENON_MEMORY_SCRATCH));
  EXPECT_NEAR(static_cast<double>(control_->bytes_now), said, 0.03 * said);
  EXPECT_NEAR(static_cast<double>(control_->bytes_peak), said, 0.03 * said);
}

TEST_F(VulkanFaults, ThePeakOfADeviceIsThatOfItsPlan) {
  const DeviceBytes bytes{[this] { return control_->bytes_now.load(); },
                          [this] { return control_->bytes_peak.load(); },
                          [this] { control_->bytes_peak = control_->bytes_now.load(); }};
  expect_peak_of_plan(on_faulty_vulkan, bytes);
}

/// The driver receives kernels compiled by an earlier process, but no damaged ones.
TEST_F(VulkanFaults, CompiledKernelsAreKeptWhereTheHostSays) {
  const TempFolder folder;
  const auto start = [&](const char* name = "") {
    ModelOptions options = on_faulty_vulkan();
    options.kernel_cache = folder.path(name);
    control_->initial_cache_bytes = -1;
    static_cast<void>(load_source(golden_.source(), std::move(options)));
    return control_->initial_cache_bytes.load();
  };
  const auto files = [&] {
    std::vector<std::filesystem::path> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path(""))) {
      all.push_back(entry.path());
    }
    return all;
  };
  EXPECT_EQ(start(), 0) << "nothing is kept yet";
  ASSERT_EQ(files().size(), 1u);
  const int64_t kept = start();
  EXPECT_GT(kept, 0);
  const std::string path = files()[0].string();
  const uint64_t size = std::filesystem::file_size(path);

  const auto damage = [&](uint64_t offset) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const auto byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
  };
  for (const uint64_t offset : {uint64_t{0}, uint64_t{9}, uint64_t{17}, uint64_t{25}, size - 1}) {
    SCOPED_TRACE(offset);
    damage(offset);
    EXPECT_EQ(start(), 0) << "damaged";
    EXPECT_EQ(start(), kept) << "and written anew";
  }
  for (const uint64_t left : {uint64_t{0}, uint64_t{7}, size - 1}) {
    SCOPED_TRACE(left);
    std::filesystem::resize_file(path, left);
    EXPECT_EQ(start(), 0) << "cut";
    EXPECT_EQ(start(), kept);
  }
  EXPECT_EQ(files().size(), 1u);
  EXPECT_EQ(start("missing"), 0) << "a folder that is not there is none";
}

}  // namespace
}  // namespace tenon::golden
#endif
