// Default folder of plugins: beside the shared library and nowhere else.
#include "backend/plugin_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "backend/registry.h"
#include "tests/base/temp_folder.h"

namespace tenon {
namespace {

TEST(PluginFolder, LiesBesideTheSharedLibrary) {
  EXPECT_EQ(plugin_folder({"/usr/lib/libtenon.so.0.1", true, false}), "/usr/lib/tenon/");
}

TEST(PluginFolder, IsNowhereForCodeInAnothersFile) {
  // The dynamic loader names a main program by its argv[0], which the caller chooses.
  EXPECT_EQ(plugin_folder({"/anywhere/x", false, false}), "");
  EXPECT_FALSE(own_code().is_shared) << "this program has the code in itself";
  EXPECT_EQ(plugin_folder(own_code()), "");
}

TEST(PluginFolder, IsNowhereWithMoreRightsThanTheCaller) {
  EXPECT_EQ(plugin_folder({"/usr/lib/libtenon.so.0.1", true, true}), "");
}

TEST(PluginFolder, IsNowhereWithoutAnAbsolutePath) {
  for (const char* file : {static_cast<const char*>(nullptr), "", "libtenon.so", "./libtenon.so"}) {
    EXPECT_EQ(plugin_folder({file, true, false}), "");
  }
}

TEST(PluginFolder, MayBeNamedByTheHost) {
  const TempFolder folder;
  ::chmod(folder.path("").c_str(), 0755);
  folder.write("libtenon-b.so", std::string("no library"));
  folder.write("libtenon-a.so", std::string("no library"));
  folder.write("other.so", std::string("no library"));
  const std::string named[] = {folder.path("")};
  ASSERT_TRUE(named[0].ends_with('/'));
  const BackendRegistry registry(named);
  std::vector<std::string> origins;
  for (const BackendEntry& entry : registry.entries()) {
    if (entry.origin != "built in") origins.push_back(entry.origin);
  }
  EXPECT_EQ(origins,
            (std::vector<std::string>{folder.path("libtenon-a.so"), folder.path("libtenon-b.so")}));
}

}  // namespace
}  // namespace tenon
