// Choice of the devices for a split model: all of one backend, each device once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backend/choose_device.h"
#include "tests/base/expect_error.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string plugin(const std::string& name) {
  return std::string(TENON_HOSTILE_PLUGIN_DIR) + "/libtenon-" + name + ".so";
}

/// "BACKEND:DEVICE" of each device found.
std::vector<std::string> found(const std::vector<std::string>& plugins,
                               const std::string& backend = "auto") {
  DeviceChoice choice;
  choice.backend = backend;
  for (const std::string& name : plugins) choice.plugin_paths.push_back(plugin(name));
  choice.make_services = [] {
    return std::make_unique<HostServices>(System::real(), Log{}, std::make_unique<ThreadTeam>(1));
  };
  std::vector<std::string> names;
  for (const DeviceName& name : find_accelerators(choice)) {
    names.push_back(name.backend + ":" + name.device);
  }
  return names;
}

TEST(FindAccelerators, TakesThoseThatCanBeUsed) {
  EXPECT_THAT(found({"gpus_first"}), ElementsAre("gpus-first:2", "gpus-first:3"));
  EXPECT_THAT(found({}), IsEmpty()) << "processors are none";
}

TEST(FindAccelerators, TakesADeviceThatTwoBackendsListOnce) {
  EXPECT_THAT(found({"gpus_first", "gpus_again"}), ElementsAre("gpus-first:2", "gpus-first:3"));
  EXPECT_THAT(found({"gpus_again", "gpus_first"}), ElementsAre("gpus-again:0"));
}

TEST(FindAccelerators, TakesThoseOfTheBackendThatIsNamed) {
  EXPECT_THAT(found({"gpus_first", "gpus_again"}, "gpus-again"), ElementsAre("gpus-again:0"));
  EXPECT_THAT(found({"gpus_first"}, "cpu"), IsEmpty());
  expect_error(Code::Argument, HasSubstr("gpus-agian"),
               [] { (void)found({"gpus_again"}, "gpus-agian"); });
}

TEST(FindAccelerators, PassesOverABackendThatListsNothing) {
  // A backend without a driver, a file that is no backend, then a backend with a device.
  EXPECT_THAT(found({"no_device", "wrong_magic", "gpus_again"}), ElementsAre("gpus-again:0"));
}

}  // namespace
}  // namespace tenon
