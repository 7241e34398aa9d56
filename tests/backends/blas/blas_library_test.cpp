// The BLAS library: options, failures, threads.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "backends/blas/blas_entry.h"
#include "tests/backends/reference/fake_host.h"

namespace tenon::testing_blas {
namespace {

using testing::HasSubstr;
using testing_reference::FakeHost;

const tenon_backend_api& api() {
  return *tenon_blas_backend_entry(TENON_BACKEND_MAJOR, TENON_BACKEND_MINOR);
}

/// True if the process has loaded the library.
bool is_loaded(const char* name) {
  void* handle = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) ::dlclose(handle);
  return handle != nullptr;
}

/// A device made with an option; the host's last sentence is in `host`.
class Made {
 public:
  /// Without a key, makes it without options.
  explicit Made(const char* key = nullptr, const char* value = nullptr) {
    const tenon_backend_option option = {key, value};
    status = api().create_device(host.table(), 0, &option, key == nullptr ? 0 : 1, &device_);
  }
  ~Made() { api().destroy_device(device_); }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  [[nodiscard]] tenon_device_info info() const {
    tenon_device_info info{};
    info.struct_size = sizeof(info);
    EXPECT_EQ(api().describe(device_, &info), TENON_BACKEND_OK);
    return info;
  }

  FakeHost host;
  tenon_status status = TENON_BACKEND_INTERNAL;

 private:
  tenon_device* device_ = nullptr;
};

/// A function of OpenBLAS; null if the system's BLAS is another. Requires that a device was made.
template <typename Function>
Function* of_openblas(const char* name) {
  void* handle = ::dlopen("libblas.so.3", RTLD_NOW | RTLD_NOLOAD);
  return handle == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(handle, name));
}

// Runs in its own process, like every test started by CTest.
TEST(BlasLibrary, IsNotLoadedByListing) {
  if (is_loaded("libblas.so.3")) GTEST_SKIP() << "another test has loaded it";
  FakeHost host;
  tenon_device_info info{};
  tenon_backend_option_info options[4];
  uint32_t count = 0;
  EXPECT_EQ(api().list_devices(host.table(), &info, sizeof(info), 1, &count), TENON_BACKEND_OK);
  EXPECT_EQ(count, 1u);
  api().list_options(options, sizeof(options[0]), 4, &count);
  EXPECT_EQ(count, 2u);
  EXPECT_FALSE(is_loaded("libblas.so.3"));
  const Made made;
  EXPECT_EQ(made.status, TENON_BACKEND_OK) << made.host.error;
  EXPECT_TRUE(is_loaded("libblas.so.3"));
}

TEST(BlasLibrary, SaysWhatItIs) {
  const Made made;
  ASSERT_EQ(made.status, TENON_BACKEND_OK) << made.host.error;
  const bool is_openblas = of_openblas<char*()>("openblas_get_config") != nullptr;
  EXPECT_THAT(made.info().description, HasSubstr(is_openblas ? "OpenBLAS" : "libblas.so.3"));
  EXPECT_EQ(made.info().flags & TENON_DEVICE_BATCH_INVARIANT, 0u);
}

TEST(BlasLibrary, ThatIsAbsentIsRefusedByName) {
  const Made made("library", "/nowhere/libblas.so");
  EXPECT_EQ(made.status, TENON_BACKEND_UNSUPPORTED);
  EXPECT_THAT(made.host.error, HasSubstr("/nowhere/libblas.so"));
}

TEST(BlasLibrary, WithoutTheInterfaceIsRefusedByFunction) {
  const Made made("library", "libm.so.6");
  EXPECT_EQ(made.status, TENON_BACKEND_UNSUPPORTED);
  EXPECT_THAT(made.host.error, HasSubstr("libm.so.6 has no cblas_sgemm"));
}

TEST(BlasLibrary, OptionsThatAreUnknownAreRefused) {
  const Made key("thread", "1");
  EXPECT_EQ(key.status, TENON_BACKEND_ARGUMENT);
  EXPECT_THAT(key.host.error, HasSubstr("\"thread\""));
  const Made value("library_threads", "2");
  EXPECT_EQ(value.status, TENON_BACKEND_ARGUMENT);
  EXPECT_THAT(value.host.error, HasSubstr("\"2\" is not 1 or keep"));
}

TEST(BlasLibrary, ComputesInTheThreadThatAsksUnlessTheHostKeepsItsOwn) {
  const Made kept("library_threads", "keep");
  ASSERT_EQ(kept.status, TENON_BACKEND_OK) << kept.host.error;
  auto* num_threads = of_openblas<int()>("openblas_get_num_threads");
  auto* set_num_threads = of_openblas<void(int)>("openblas_set_num_threads");
  if (num_threads == nullptr) GTEST_SKIP() << "the system's BLAS is not OpenBLAS";
  set_num_threads(2);
  if (num_threads() != 2) GTEST_SKIP() << "this OpenBLAS has no threads";
  const Made also_kept("library_threads", "keep");
  EXPECT_EQ(num_threads(), 2);
  const Made made;
  EXPECT_EQ(num_threads(), 1);
}

}  // namespace
}  // namespace tenon::testing_blas
