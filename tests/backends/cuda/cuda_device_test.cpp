// The CUDA backend over the fake driver: listing, and messages for missing and old drivers.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "abi/failure.h"
#include "backends/cuda/cuda_driver.h"
#include "tests/backends/cuda/emulator/fake_cuda.h"

namespace tenon::cuda {
namespace {

using ::testing::HasSubstr;

/// Resets the driver's behaviour for each test.
class CudaDriver : public ::testing::Test {
 protected:
  CudaDriver() {
    library_ = dlopen(TENON_FAKE_DRIVER, RTLD_NOW);
    const auto find = reinterpret_cast<fake::Control* (*)()>(dlsym(library_, "tenon_fake_cuda"));
    control_ = find();
    before_ = *control_;
  }
  ~CudaDriver() override {
    *control_ = before_;
    dlclose(library_);
  }
  static std::string refusal(const char* library) {
    try {
      (void)Driver(library).devices();
    } catch (const backends::Failure& failure) {
      return failure.what();
    }
    return "";
  }

  void* library_ = nullptr;
  fake::Control* control_ = nullptr;
  fake::Control before_;
};

TEST_F(CudaDriver, SaysThatThereIsNone) {
  EXPECT_THAT(refusal("libcuda-missing.so.1"), HasSubstr("libcuda-missing.so.1 not found"));
}

TEST_F(CudaDriver, SaysThatItIsTooOld) {
  control_->version = 11080;
  EXPECT_THAT(refusal(TENON_FAKE_DRIVER), HasSubstr("CUDA 11.8, needs 12.0"));
}

TEST_F(CudaDriver, SaysThatItHasNoDevice) {
  control_->devices = 0;
  EXPECT_THAT(refusal(TENON_FAKE_DRIVER), HasSubstr("no device"));
}

TEST_F(CudaDriver, NamesTheCallThatFails) {
  control_->fail_call = 3;  // after cuDriverGetVersion and cuInit
  EXPECT_THAT(refusal(TENON_FAKE_DRIVER), HasSubstr("cuDeviceGetCount: CUDA_ERROR_UNKNOWN"));
}

TEST_F(CudaDriver, ListsAllDevicesWithWhyOneCannotBeUsed) {
  control_->devices = 2;
  control_->major = 7;
  const auto devices = Driver(TENON_FAKE_DRIVER).devices();
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].unavailable, "");
  EXPECT_THAT(devices[1].unavailable, HasSubstr("compute capability 7.0, needs 8.0"));
}

}  // namespace
}  // namespace tenon::cuda
