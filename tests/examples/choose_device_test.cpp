// Example that lets the user choose a device, and the program's equivalent flags.
#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>

#include "examples/run_program.h"

namespace {

using namespace tenon_test;

TEST(ChooseDevice, ListsAndAnswersWhereItIsTold) {
  const std::string list = output_of("choose_device " TENON_DEMO_MODEL);
  EXPECT_NE(list.find("cpu:0  "), std::string::npos) << list;
  EXPECT_NE(list.find("reference:0  "), std::string::npos) << list;
  const std::string cpu = output_of("choose_device " TENON_DEMO_MODEL " cpu");
  EXPECT_EQ(cpu.find("4 layers on cpu, "), 0u) << cpu;
  EXPECT_NE(cpu.find("\nOnce upon a time"), std::string::npos) << cpu;
  const std::string mixed = output_of("choose_device " TENON_DEMO_MODEL " reference 1");
  EXPECT_EQ(mixed.find("3 layers on cpu, "), 0u) << mixed;
  EXPECT_NE(mixed.find("\n1 layers on reference, "), std::string::npos) << mixed;
  EXPECT_NE(mixed.find("\nOnce upon a time"), std::string::npos) << mixed;
  for (const char* wrong : {"", " /nowhere cpu", " " TENON_DEMO_MODEL " nonsense",
                            " " TENON_DEMO_MODEL " cpu -7", " " TENON_DEMO_MODEL " cpu many"}) {
    EXPECT_EQ(run_program(std::string("choose_device") + wrong).exit_code, 1) << wrong;
  }
}

TEST(DeviceFlags, AreThereInEveryCommand) {
  const std::string run =
      "tenon complete " TENON_DEMO_MODEL " 'Once upon a time' -n 8 --temperature 0";
  const std::string plain = output_of(run + " --backend reference");
  EXPECT_EQ(output_of(run + " --device reference"), plain);
  EXPECT_EQ(output_of(run + " --devices reference=2,reference"), plain);
  expect_error_line(run + " --devices nonsense", "devices: backend: \"nonsense\"");
  expect_error_line(run + " --gpu-layers -5", "\"gpu_layers\" is -5");
  expect_error_line(run + " --devices cpu --device-memory 1", "devices: the 4 layers take");
  for (const char* command :
       {"run", "chat", "complete", "bench", "plan", "serve", "embed", "perplexity"}) {
    const Outcome help = run_program(std::string("tenon ") + command + " --help-all");
    if (help.exit_code != 0) continue;  // builds without the server lack the command
    for (const char* flag :
         {"--backend TEXT", "--devices TEXT", "--gpu-layers N", "--experts-on"}) {
      EXPECT_NE(help.out.find(flag), std::string::npos) << command << " " << flag;
    }
  }
}

TEST(DeviceFlags, PlanHasAColumnForEachDevice) {
  const std::string plan = "tenon plan " TENON_DEMO_MODEL " --no-speed --context 512 ";
  EXPECT_EQ(output_of(plan).find("device "), std::string::npos);
  const std::string two = output_of(plan + "--device reference --gpu-layers 1");
  EXPECT_NE(two.find("cpu:cpu    reference:reference\n"), std::string::npos) << two;
  const size_t layers = two.find("\nlayers ");
  ASSERT_NE(layers, std::string::npos) << two;
  std::istringstream line(two.substr(layers + 7));
  uint64_t first = 0;
  uint64_t second = 0;
  line >> first >> second;
  EXPECT_EQ(first, 3u);
  EXPECT_EQ(second, 1u);
  const std::string json = output_of(plan + "--device reference --gpu-layers 1 --json");
  EXPECT_NE(json.find("\"fitting_gpu_layers\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"backend\": \"reference\""), std::string::npos) << json;
}

TEST(DeviceFlags, BackendsListDevices) {
  const std::string text = output_of("tenon backends");
  EXPECT_NE(text.find("\n    cpu:0  cpu  cpu"), std::string::npos) << text;
  const std::string json = output_of("tenon backends --json");
  EXPECT_NE(json.find("\"kind\": \"reference\""), std::string::npos) << json;
}

}  // namespace
