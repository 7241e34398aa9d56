// tenon_measure_hardware, tenon_model_plan, and the C++ functions over them.
#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <cstring>
#include <string>
#include <tenon/tenon.hpp>

#include "handles.h"

namespace {

using namespace tenon_test;

/// Demo model opened for inspection.
ModelPtr inspect_demo() {
  const OptionsPtr options = make_options();
  EXPECT_OK(tenon_options_set_bool(options.get(), "inspect", 1));
  tenon_model* model = nullptr;
  EXPECT_OK(tenon_model_open(TENON_DEMO_MODEL, options.get(), &model));
  return ModelPtr(model);
}

tenon_hardware some_hardware() {
  auto hardware = sized<tenon_hardware>();
  hardware.threads = 2;
  hardware.memory_bytes = uint64_t{1} << 30;
  hardware.process_bytes = 5'000'000;
  return hardware;
}

TEST(CPlan, RefusesBadArguments) {
  const ModelPtr model = inspect_demo();
  tenon_hardware hardware = some_hardware();
  auto plan = sized<tenon_plan>();
  plan.context = 77;
  expect_failure(tenon_model_plan(nullptr, 0, 0, &hardware, &plan), TENON_ERROR_ARGUMENT, "model");
  expect_failure(tenon_model_plan(model.get(), 0, 0, nullptr, &plan), TENON_ERROR_ARGUMENT,
                 "tenon_hardware is NULL");
  expect_failure(tenon_model_plan(model.get(), 0, 0, &hardware, nullptr), TENON_ERROR_ARGUMENT,
                 "tenon_plan is NULL");
  expect_failure(tenon_model_plan(model.get(), UINT64_MAX, 0, &hardware, &plan),
                 TENON_ERROR_ARGUMENT, "context is 18446744073709551615");
  hardware.threads = 0;
  expect_failure(tenon_model_plan(model.get(), 0, 0, &hardware, &plan), TENON_ERROR_ARGUMENT,
                 "threads is 0");
  hardware.struct_size = 3;
  expect_failure(tenon_model_plan(model.get(), 0, 0, &hardware, &plan), TENON_ERROR_ARGUMENT,
                 "struct_size");
  EXPECT_EQ(plan.context, 77u);
  expect_failure(tenon_measure_hardware(nullptr, 0, &hardware), TENON_ERROR_ARGUMENT, "model");
  expect_failure(tenon_measure_hardware(model.get(), 0, nullptr), TENON_ERROR_ARGUMENT,
                 "tenon_hardware is NULL");
  expect_failure(tenon_measure_hardware(model.get(), 2, &hardware), TENON_ERROR_ARGUMENT,
                 "flags 0x2 are unknown");
}

TEST(CPlan, PlansTheDemoModel) {
  const ModelPtr model = inspect_demo();
  auto hardware = sized<tenon_hardware>();
  ASSERT_OK(tenon_measure_hardware(model.get(), 0, &hardware));
  EXPECT_GT(hardware.threads, 0u);
  EXPECT_GT(hardware.memory_bytes, hardware.process_bytes);
  EXPECT_EQ(hardware.cache_bytes_per_second, 0);
  auto plan = sized<tenon_plan>();
  ASSERT_OK(tenon_model_plan(model.get(), 512, 4, &hardware, &plan));
  EXPECT_EQ(plan.struct_size, sizeof plan);
  EXPECT_EQ(plan.context, 512u);
  EXPECT_EQ(plan.sessions, 4u);
  EXPECT_EQ(plan.fits, 1u);
  EXPECT_STREQ(plan.fitting_cache_type, "f16");
  EXPECT_GT(plan.weights_bytes, 2'000'000u);
  EXPECT_GT(plan.total_bytes, plan.weights_bytes + plan.kv_bytes);
  hardware.memory_bytes = 1000;
  ASSERT_OK(tenon_model_plan(model.get(), 512, 4, &hardware, &plan));
  EXPECT_EQ(plan.fits, 0u);
  EXPECT_STREQ(plan.fitting_cache_type, "");
}

TEST(CPlan, ShowsEachDevice) {
  const tenon::Model model(TENON_DEMO_MODEL, {.devices = "reference=1,cpu", .inspect = true});
  const tenon_hardware hardware = some_hardware();
  tenon_placement* raw = nullptr;
  ASSERT_OK(tenon_placement_create(model.get(), 512, 2, &hardware, &raw));
  const PlacementPtr placement(raw);
  ASSERT_EQ(tenon_placement_count(raw), 2u);
  auto cpu = sized<tenon_placed_device>();
  auto reference = sized<tenon_placed_device>();
  ASSERT_OK(tenon_placement_get_device(raw, 0, &cpu));
  ASSERT_OK(tenon_placement_get_device(raw, 1, &reference));
  EXPECT_EQ(std::string(cpu.backend, cpu.backend_length), "cpu");
  EXPECT_EQ(std::string(reference.name, reference.name_length), "reference");
  EXPECT_EQ(cpu.layers, 3u);
  EXPECT_EQ(reference.layers, 1u);
  EXPECT_EQ(cpu.fits, 1u);
  auto plan = sized<tenon_plan>();
  ASSERT_OK(tenon_model_plan(model.get(), 512, 2, &hardware, &plan));
  EXPECT_EQ(plan.weights_bytes, cpu.weights_bytes + reference.weights_bytes);
  EXPECT_EQ(plan.kv_bytes, cpu.kv_bytes + reference.kv_bytes);
  EXPECT_EQ(reference.total_bytes,
            reference.weights_bytes + reference.scratch_bytes + reference.kv_bytes);
  expect_failure(tenon_placement_get_device(raw, 2, &cpu), TENON_ERROR_ARGUMENT,
                 "device 2 of a placement does not exist; there are 2");
  expect_failure(tenon_placement_create(model.get(), 0, 0, nullptr, &raw), TENON_ERROR_ARGUMENT,
                 "tenon_hardware is NULL");
  expect_failure(tenon_placement_create(model.get(), 0, 0, &hardware, nullptr),
                 TENON_ERROR_ARGUMENT, "placement is NULL");
  const auto devices = tenon::placement(model, hardware, {.context = 512, .sessions = 2});
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[1].weights_bytes, reference.weights_bytes);
}

TEST(CPlan, CppSaysTheSame) {
  const tenon::Model model(TENON_DEMO_MODEL, {.inspect = true});
  const tenon_hardware hardware = some_hardware();
  const tenon_plan same_plan = tenon::plan(model, hardware, {.context = 256, .sessions = 2});
  const ModelPtr same = inspect_demo();
  auto plan = sized<tenon_plan>();
  ASSERT_OK(tenon_model_plan(same.get(), 256, 2, &hardware, &plan));
  EXPECT_EQ(std::memcmp(&plan, &same_plan, sizeof plan), 0);
  EXPECT_GT(tenon::measure_hardware(model, false).process_bytes, 0u);
  tenon_hardware bad = hardware;
  bad.threads = 0;
  EXPECT_THROW((void)tenon::plan(model, bad), tenon::Error);
}

TEST(CppLog, ReceivesWarningsAndLosesItsExceptions) {
  std::string lines;
  const tenon::Log log{[&](uint32_t level, std::string_view line) {
    EXPECT_EQ(level, TENON_LOG_WARNING);
    lines += line;
    throw 1;
  }};
  double last = -1;
  tenon::ModelOptions options;
  options.plugins = {"/nowhere/libtenon-none.so"};
  options.log = &log;
  options.progress = [&](double fraction) {
    last = fraction;
    return true;
  };
  const tenon::Model model(TENON_DEMO_MODEL, options);
  EXPECT_NE(lines.find("/nowhere/libtenon-none.so is not used"), std::string::npos) << lines;
  EXPECT_EQ(last, 1);
}

}  // namespace
