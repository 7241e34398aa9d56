#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "base/temp_folder.h"
#include "handles.h"

namespace {

using namespace tenon_test;

struct Backend {
  std::string name, origin, description;
  tenon_status status;
  int32_t reason;
};

std::vector<Backend> list(const tenon_options* options) {
  tenon_backends* raw = nullptr;
  EXPECT_OK(tenon_backends_create(options, &raw));
  const BackendsPtr backends(raw);
  std::vector<Backend> result;
  for (size_t i = 0; i < tenon_backends_count(raw); ++i) {
    auto backend = sized<tenon_backend_info>();
    EXPECT_OK(tenon_backends_get_info(raw, i, &backend));
    result.push_back({{backend.name, backend.name_length},
                      {backend.origin, backend.origin_length},
                      {backend.description, backend.description_length},
                      backend.status,
                      backend.reason});
  }
  auto beyond = sized<tenon_backend_info>();
  expect_failure(tenon_backends_get_info(raw, result.size(), &beyond), TENON_ERROR_ARGUMENT,
                 "does not exist");
  return result;
}

TEST(CBackends, CpuAndReferenceAreBuiltIn) {
  const auto backends = list(nullptr);
  for (const std::string name : {"cpu", "reference"}) {
    const auto found = std::find_if(backends.begin(), backends.end(), [&](const Backend& backend) {
      return backend.name == name && backend.origin == "built in";
    });
    ASSERT_NE(found, backends.end()) << name;
    EXPECT_EQ(found->status, TENON_OK);
    EXPECT_FALSE(found->description.empty());
  }
}

TEST(CBackends, TellTheirDevices) {
  tenon_backends* raw = nullptr;
  ASSERT_OK(tenon_backends_create(nullptr, &raw));
  const BackendsPtr backends(raw);
  ASSERT_EQ(tenon_backends_count_devices(raw, 0), 1u);
  auto device = sized<tenon_backend_device>();
  ASSERT_OK(tenon_backends_get_device(raw, 0, 0, &device));
  EXPECT_EQ(device.kind, TENON_DEVICE_KIND_CPU);
  EXPECT_EQ(std::string(device.name, device.name_length), "cpu");
  EXPECT_GT(device.description_length, 0u);
  EXPECT_EQ(device.unavailable_length, 0u);
  ASSERT_OK(tenon_backends_get_device(raw, 1, 0, &device));
  EXPECT_EQ(device.kind, TENON_DEVICE_KIND_REFERENCE);
  expect_failure(tenon_backends_get_device(raw, 0, 1, &device), TENON_ERROR_ARGUMENT,
                 "device 1 of backend \"cpu\" does not exist; there are 1");
  expect_failure(tenon_backends_get_device(raw, 9999, 0, &device), TENON_ERROR_ARGUMENT,
                 "backend 9999 does not exist");
  expect_failure(tenon_backends_get_device(raw, 0, 0, nullptr), TENON_ERROR_ARGUMENT, "NULL");
  EXPECT_EQ(tenon_backends_count_devices(raw, 9999), 0u);
  EXPECT_EQ(tenon::backends()[0].devices[0].name, "cpu");
}

TEST(CBackends, TellTheirOptionsAndTheModelTakesThem) {
  tenon_backends* raw = nullptr;
  ASSERT_OK(tenon_backends_create(nullptr, &raw));
  const BackendsPtr backends(raw);
  auto cpu = sized<tenon_backend_info>();
  ASSERT_OK(tenon_backends_get_info(raw, 0, &cpu));
  EXPECT_NE(std::string(cpu.options, cpu.options_length).find("isa\t"), std::string::npos);
  tenon_model* model = nullptr;
  for (const char* key : {"backend.isa", "isa"}) {
    const OptionsPtr options = make_options();
    ASSERT_OK(tenon_options_set_string(options.get(), key, "portable", TENON_NUL_TERMINATED));
    ASSERT_OK(tenon_model_open(TENON_DEMO_MODEL, options.get(), &model));
    const ModelPtr owner(model);
    auto execution = sized<tenon_execution>();
    ASSERT_OK(tenon_model_execution(model, &execution));
    EXPECT_NE(std::string(execution.device).find("portable"), std::string::npos)
        << execution.device;
  }
  const OptionsPtr options = make_options();
  ASSERT_OK(
      tenon_options_set_string(options.get(), "backend.iza", "portable", TENON_NUL_TERMINATED));
  expect_failure(tenon_model_open(TENON_DEMO_MODEL, options.get(), &model), TENON_ERROR_ARGUMENT,
                 "\"backend.isa\"");
}

TEST(CBackends, ARefusedPluginIsListedWithItsReason) {
  const tenon::TempFolder folder;
  const std::string path = folder.write("libtenon-capi.so", "no library");
  const OptionsPtr options = make_options();
  ASSERT_OK(tenon_options_add_string(options.get(), "plugin", path.c_str(), TENON_NUL_TERMINATED));
  ASSERT_OK(tenon_options_add_string(options.get(), "plugin", "/nowhere.so", 11));
  const auto backends = list(options.get());
  for (const std::string& origin : {path, std::string("/nowhere.so")}) {
    const auto found = std::find_if(backends.begin(), backends.end(), [&](const Backend& backend) {
      return backend.origin == origin;
    });
    ASSERT_NE(found, backends.end()) << origin;
    EXPECT_STREQ(tenon_status_name(found->status), "PLUGIN");
    EXPECT_NE(found->reason, TENON_REFUSED_NOT);
    EXPECT_FALSE(found->description.empty());
  }
  // The other backends are still listed.
  EXPECT_TRUE(std::any_of(backends.begin(), backends.end(), [](const Backend& backend) {
    return backend.name == "cpu" && backend.status == TENON_OK;
  }));
}

TEST(CBackends, BothBuiltInOnesRunTheModelAlike) {
  std::vector<std::vector<float>> rows;
  for (const std::string name : {"cpu", "reference"}) {
    const OptionsPtr options = make_options();
    ASSERT_OK(tenon_options_set_string(options.get(), "backend", name.data(), name.size()));
    ASSERT_OK(tenon_options_set_string(options.get(), "cache_type", "f32", 3));
    tenon_model* raw = nullptr;
    ASSERT_OK(tenon_model_open(TENON_DEMO_MODEL, options.get(), &raw));
    const ModelPtr model(raw);
    const SessionPtr session = make_session(model, 32);
    ASSERT_OK(tenon_session_append_text(session.get(), "Once upon a time", 16, 0));
    const float* logits = nullptr;
    size_t count = 0;
    ASSERT_OK(tenon_session_logits(session.get(), &logits, &count));
    rows.emplace_back(logits, logits + count);
  }
  double error = 0;
  double size = 0;
  for (size_t i = 0; i < rows[0].size(); ++i) {
    error += (rows[0][i] - rows[1][i]) * (rows[0][i] - rows[1][i]);
    size += rows[1][i] * rows[1][i];
  }
  // 8-bit weights with quantised activations on one side.
  EXPECT_LT(error / size, 1e-3);
}

}  // namespace
