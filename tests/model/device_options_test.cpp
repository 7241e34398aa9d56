// Options devices, device_memory, gpu_layers and experts_on.
#include "model/device_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/base/expect_error.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ModelOptions asking(std::string devices, std::string memory = "") {
  ModelOptions options;
  options.devices = std::move(devices);
  options.device_memory = std::move(memory);
  return options;
}

/// "BACKEND:DEVICE=LAYERS/BYTES" of each device, without unset parts.
std::vector<std::string> parsed(const std::string& devices, const std::string& memory = "") {
  std::vector<std::string> shown;
  for (const WantedDevice& wanted : parse_devices(asking(devices, memory))) {
    std::string text = wanted.name.backend;
    if (!wanted.name.device.empty()) text += ":" + wanted.name.device;
    if (wanted.layers) text += "=" + std::to_string(*wanted.layers);
    if (wanted.memory_bytes) text += "/" + std::to_string(*wanted.memory_bytes);
    shown.push_back(text);
  }
  return shown;
}

TEST(DeviceOptions, NameDevicesWithTheirLayers) {
  EXPECT_THAT(parsed(""), ElementsAre());
  EXPECT_THAT(parsed("cpu"), ElementsAre("cpu"));
  EXPECT_THAT(parsed("vulkan:1=7,cpu=0,cuda:gpu 1"),
              ElementsAre("vulkan:1=7", "cpu=0", "cuda:gpu 1"));
  EXPECT_THAT(parsed("cpu=65536"), ElementsAre("cpu=65536"));
  expect_error(Code::Argument, HasSubstr("0..65536"), [] { parsed("cpu=65537"); });
}

TEST(DeviceOptions, GiveEachDeviceItsMemoryInOrder) {
  EXPECT_THAT(parsed("cuda:0,cuda:1,cpu", "1,22,333"),
              ElementsAre("cuda:0/1", "cuda:1/22", "cpu/333"));
  EXPECT_THAT(parsed("cuda:0,cuda:1,cpu", "5"), ElementsAre("cuda:0/5", "cuda:1", "cpu"));
  EXPECT_THAT(parsed("cpu", "18446744073709551615"), ElementsAre("cpu/18446744073709551615"));
}

TEST(DeviceOptions, AMemoryOfZeroIsTheDefaultOfTheDevice) {
  EXPECT_THAT(parsed("cuda:0,cuda:1,cpu", "0,22,0"), ElementsAre("cuda:0", "cuda:1/22", "cpu"));
  EXPECT_THAT(parsed("cpu", "0"), ElementsAre("cpu"));
}

TEST(DeviceOptions, ASizeThatIsNoneIsRefused) {
  for (const char* memory : {"x", "1x", "-1", "1.5", " 1", "1,", ",1", "18446744073709551616"}) {
    expect_error(Code::Argument, HasSubstr("no whole number of bytes"),
                 [memory] { parsed("cpu,cpu", memory); });
  }
  expect_error(Code::Argument, HasSubstr("3 sizes for 2 devices"),
               [] { parsed("cpu,cpu", "1,2,3"); });
}

TEST(DeviceOptions, ManyDevicesAreRefused) {
  std::string devices = "cpu";
  for (int i = 1; i < 64; ++i) devices += ",cpu";
  EXPECT_EQ(parsed(devices).size(), 64u);
  expect_error(Code::Argument, HasSubstr("65 are named, at most 64"),
               [&] { parsed(devices + ",cpu"); });
}

TEST(DeviceOptions, AskForAPlacementWhenTheySayMoreThanADevice) {
  EXPECT_FALSE(asks_for_placement({}));
  EXPECT_TRUE(asks_for_placement(asking("cpu")));
  EXPECT_TRUE(asks_for_placement(asking("cpu", "1")));
  ModelOptions layers;
  layers.gpu_layers = 0;
  EXPECT_TRUE(asks_for_placement(layers));
  ModelOptions experts;
  experts.experts_on = ExpertsOn::Cpu;
  EXPECT_TRUE(asks_for_placement(experts));
}

TEST(DeviceOptions, NameTheOnlyDeviceWhereTheySayNoMore) {
  const auto only = [](const ModelOptions& options) {
    const std::optional<DeviceName> name = only_device(options);
    return name ? name->backend + ":" + name->device : "none";
  };
  EXPECT_EQ(only(asking("vulkan:1")), "vulkan:1");
  EXPECT_EQ(only(asking("cpu")), "cpu:");
  EXPECT_EQ(only(asking("")), "none");
  EXPECT_EQ(only(asking("cpu,cpu")), "none");
  EXPECT_EQ(only(asking("cpu=3")), "none");
  EXPECT_EQ(only(asking("cpu", "0")), "none");
  ModelOptions layers = asking("vulkan");
  layers.gpu_layers = 0;
  EXPECT_EQ(only(layers), "none");
  layers.gpu_layers = -1;
  EXPECT_EQ(only(layers), "vulkan:");
  layers.experts_on = ExpertsOn::Cpu;
  EXPECT_EQ(only(layers), "none");
}

TEST(DeviceOptions, ValuesAtTheirEndsAreTaken) {
  const auto with_layers = [](int64_t layers) {
    ModelOptions options;
    options.gpu_layers = layers;
    check_options(options);
  };
  for (const int64_t layers : {-1, 0, 65536}) EXPECT_NO_THROW(with_layers(layers)) << layers;
  for (const int64_t layers : {-2, 65537}) {
    expect_error(Code::Argument, HasSubstr("-1..65536"), [&] { with_layers(layers); });
  }
}

}  // namespace
}  // namespace tenon
