// Plugins that break the rules: each is refused with its reason, and nothing else suffers.
#include "backend/plugin.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "backend/registry.h"
#include "program/operations.h"
#include "tests/base/expect_error.h"
#include "tests/base/faulty_system.h"
#include "tests/base/temp_folder.h"

namespace tenon {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string hostile(const std::string& name) {
  return std::string(TENON_HOSTILE_PLUGIN_DIR) + "/libtenon-" + name + ".so";
}

/// A copy of a plugin that only its owner may write.
std::string copy_of(const std::string& plugin, const std::string& to, mode_t mode = 0755) {
  std::filesystem::copy_file(plugin, to, std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(::chmod(to.c_str(), mode), 0);
  return to;
}

void expect_refused(const std::string& path, PluginReason reason) {
  SCOPED_TRACE(path);
  const Plugin plugin = load_plugin(path);
  EXPECT_EQ(plugin.reason, reason) << plugin.text;
  EXPECT_THAT(plugin.text, StartsWith(reason_text(reason)));
  EXPECT_EQ(plugin.path, path);
  EXPECT_EQ(plugin.backend.api, nullptr);
  EXPECT_EQ(plugin.backend.library, nullptr);
}

std::shared_ptr<Device> device_of(const Backend& backend) {
  auto host =
      std::make_unique<HostServices>(System::real(), Log{}, std::make_unique<ThreadTeam>(1));
  return Device::create(backend, std::move(host), {});
}

// ---- Checks of the file -------------------------------------------------------------------------

TEST(PluginFile, RelativePathsAreRefused) {
  for (const char* path : {"", "libtenon-x.so", "./libtenon-x.so", "../x.so"}) {
    expect_refused(path, PluginReason::NotAbsolute);
  }
}

TEST(PluginFile, MissingFilesAreRefused) {
  const TempFolder folder;
  expect_refused(folder.path("nothing.so"), PluginReason::NotFound);
  expect_refused(folder.path("no/folder.so"), PluginReason::NotFound);
}

TEST(PluginFile, DirectoriesFifosAndDevicesAreRefusedAtOnce) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("directory.so"));
  expect_refused(folder.path("directory.so"), PluginReason::NotRegular);
  ASSERT_EQ(::mkfifo(folder.path("fifo.so").c_str(), 0644), 0);
  expect_refused(folder.path("fifo.so"), PluginReason::NotRegular);
  expect_refused("/dev/null", PluginReason::NotRegular);
}

TEST(PluginFile, FilesThatAreNoLibraryAreRefused) {
  const TempFolder folder;
  for (const std::string& bytes : {std::string(),
                                   std::string("\x7F"
                                               "EL"),
                                   std::string("#!/bin/sh\necho hello\n"),
                                   std::string("\x7F"
                                               "ELF and no more")}) {
    const std::string path = folder.write("text.so", bytes);
    ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
    expect_refused(path, PluginReason::NotALibrary);
  }
}

TEST(PluginFile, ATruncatedLibraryIsRefused) {
  const TempFolder folder;
  const std::string path = copy_of(TENON_REFERENCE_PLUGIN, folder.path("half.so"));
  // The debug sections at the end are not loaded; the rest is.
  for (const uint64_t size : {100000, 20000, 4096, 1000, 65, 20}) {
    ASSERT_GT(std::filesystem::file_size(path), size);
    std::filesystem::resize_file(path, size);
    expect_refused(path, PluginReason::NotALibrary);
  }
}

TEST(PluginFile, FilesThatOthersMayWriteAreRefused) {
  const TempFolder folder;
  for (const mode_t mode : {0757, 0775, 0777}) {
    expect_refused(copy_of(TENON_REFERENCE_PLUGIN, folder.path("x.so"), mode),
                   PluginReason::Writable);
  }
}

TEST(PluginFile, FilesInAFolderThatOthersMayWriteAreRefused) {
  const TempFolder folder;
  const std::string inside = folder.path("open");
  std::filesystem::create_directory(inside);
  const std::string path = copy_of(TENON_REFERENCE_PLUGIN, inside + "/x.so");
  ASSERT_EQ(::chmod(inside.c_str(), 0777), 0);
  expect_refused(path, PluginReason::Writable);
  ASSERT_EQ(::chmod(inside.c_str(), 01777), 0);  // sticky: each owner's files are safe
  EXPECT_EQ(load_plugin(path).reason, PluginReason::None);
}

TEST(PluginFile, FilesOfAnotherUserAreRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  constexpr uid_t kOther = 12345;
  const TempFolder folder;
  const std::string path = copy_of(TENON_REFERENCE_PLUGIN, folder.path("x.so"));
  ASSERT_EQ(::chown(path.c_str(), kOther, kOther), 0);
  expect_refused(path, PluginReason::UnsafeOwner);
}

// ---- Checks of the entry and the table ----------------------------------------------------------

TEST(PluginTable, EveryOffenceHasItsReason) {
  const TempFolder folder;
  const std::pair<const char*, PluginReason> kOffences[] = {
      {"no_entry", PluginReason::NoEntry},         {"entry_throws", PluginReason::EntryThrew},
      {"entry_declines", PluginReason::Declined},  {"wrong_magic", PluginReason::WrongMagic},
      {"newer_major", PluginReason::OtherMajor},   {"older_major", PluginReason::OtherMajor},
      {"table_too_small", PluginReason::TooSmall}, {"null_function", PluginReason::MissingFunction},
      {"no_name", PluginReason::MissingFunction},  {"bad_name", PluginReason::BadName},
      {"empty_name", PluginReason::BadName},       {"long_name", PluginReason::BadName},
  };
  for (const auto& [name, reason] : kOffences) {
    expect_refused(copy_of(hostile(name), folder.path(std::string(name) + ".so")), reason);
  }
}

TEST(PluginTable, ReasonsHaveDifferentTexts) {
  std::set<std::string> texts;
  for (int32_t reason = 0; reason <= static_cast<int32_t>(PluginReason::NameTaken); ++reason) {
    texts.insert(reason_text(static_cast<PluginReason>(reason)));
  }
  EXPECT_EQ(texts.size(), 16u);
}

TEST(PluginTable, ALaterMinorVersionIsUsed) {
  const TempFolder folder;
  const Plugin plugin = load_plugin(copy_of(hostile("newer_minor"), folder.path("x.so")));
  EXPECT_EQ(plugin.reason, PluginReason::None) << plugin.text;
  EXPECT_STREQ(plugin.backend.api->name, "stub");
  EXPECT_EQ(plugin.text, "");
}

TEST(PluginTable, AnOlderOneRefusesOperationsThatCameAfterIt) {
  const TempFolder folder;
  const Plugin plugin = load_plugin(copy_of(hostile("older_minor"), folder.path("x.so")));
  ASSERT_EQ(plugin.reason, PluginReason::None) << plugin.text;
  ProgramBuilder b;
  const Slot x = op::embed(b, b.weight("e", Format::F32, 4, 8));
  const Slot sum = op::add(b, x, op::rms_norm(b, x, b.weight("n", Format::F32, 1, 8), 1e-5f));
  const Route routes = op::moe_route(b, sum, {.used = 2});
  const Slot y = op::moe_linear_sum(b, x, routes, b.weight("w", Format::F32, 64, 8), 8);
  const Program program = std::move(b).finish(op::gather_rows(b, y), {});
  EXPECT_EQ(device_of(plugin.backend)->first_unsupported(program.view()), 3u);
}

// ---- A loaded plugin ----------------------------------------------------------------------------

TEST(PluginDevice, ThrowingIsAPluginError) {
  const TempFolder folder;
  const Plugin plugin = load_plugin(copy_of(hostile("create_device_throws"), folder.path("x.so")));
  ASSERT_EQ(plugin.reason, PluginReason::None) << plugin.text;
  expect_error(Code::Plugin, HasSubstr("create_device"), [&] { device_of(plugin.backend); });
}

TEST(PluginDevice, NoDeviceIsAPluginError) {
  const TempFolder folder;
  const Plugin plugin = load_plugin(copy_of(hostile("no_device"), folder.path("x.so")));
  expect_error(Code::Plugin, HasSubstr("gave no device"), [&] { device_of(plugin.backend); });
}

TEST(PluginDevice, AnUnknownStatusIsAPluginError) {
  const TempFolder folder;
  const Plugin plugin = load_plugin(copy_of(hostile("unknown_status"), folder.path("x.so")));
  expect_error(Code::Plugin, HasSubstr("create_device failed"), [&] { device_of(plugin.backend); });
}

TEST(PluginDevice, TheGoodOneCanBeLoadedTwiceAndOutlivesItsRecord) {
  const TempFolder folder;
  const std::string path = copy_of(TENON_REFERENCE_PLUGIN, folder.path("libtenon-reference.so"));
  std::shared_ptr<Device> first;
  std::shared_ptr<Device> second;
  {
    const Plugin one = load_plugin(path);
    const Plugin two = load_plugin(path);
    ASSERT_EQ(one.reason, PluginReason::None) << one.text;
    ASSERT_EQ(two.reason, PluginReason::None) << two.text;
    first = device_of(one.backend);
    second = device_of(two.backend);
  }
  EXPECT_THAT(first->description(), HasSubstr("double precision"));
  first.reset();
  EXPECT_EQ(second->name(), "reference");
  EXPECT_THAT(second->description(), HasSubstr("double precision"));
}

TEST(PluginDevice, ThreadsThatOneLeavesKeepTheirCode) {
  const TempFolder folder;
  const std::string path = copy_of(hostile("leaves_thread"), folder.path("x.so"));
  ASSERT_EQ(load_plugin(path).reason, PluginReason::None);
  void* still = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  EXPECT_NE(still, nullptr);
  if (still != nullptr) ::dlclose(still);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));  // the thread ends in its code
}

// ---- The registry -------------------------------------------------------------------------------

TEST(Registry, BuiltInBackendsComeFirst) {
  const BackendRegistry registry;
  ASSERT_GE(registry.entries().size(), 2u);
  EXPECT_EQ(registry.entries()[0].name, "cpu");
  EXPECT_EQ(registry.entries()[1].name, "reference");
  for (const BackendEntry& entry : registry.entries().first(2)) {
    EXPECT_EQ(entry.origin, "built in");
    EXPECT_EQ(entry.reason, PluginReason::None);
  }
}

TEST(Registry, RefusedPluginsStayInTheListAndTheOthersWork) {
  const TempFolder folder;
  const std::vector<std::string> paths = {
      copy_of(hostile("entry_throws"), folder.path("a.so")), folder.path("missing.so"),
      copy_of(hostile("newer_minor"), folder.path("b.so")), "relative.so",
      copy_of(TENON_REFERENCE_PLUGIN, folder.path("c.so"))};
  const BackendRegistry registry(paths);
  const PluginReason reasons[] = {PluginReason::EntryThrew, PluginReason::NotFound,
                                  PluginReason::None, PluginReason::NotAbsolute,
                                  PluginReason::NameTaken};
  ASSERT_GE(registry.entries().size(), 2 + paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    const BackendEntry& entry = registry.entries()[2 + i];
    EXPECT_EQ(entry.origin, paths[i]);
    EXPECT_EQ(entry.reason, reasons[i]) << entry.text;
    EXPECT_EQ(entry.name.empty(), reasons[i] != PluginReason::None);
    EXPECT_EQ(entry.text.empty(), reasons[i] == PluginReason::None);
  }
  for (const char* name : {"cpu", "reference"}) {
    EXPECT_NE(device_of(registry.find(name))->description(), "");
  }
  EXPECT_EQ(registry.find("stub").api, registry.entries()[4].backend.api);
  // A taken name stays with the built-in backend.
  EXPECT_EQ(registry.find("reference").api, registry.entries()[1].backend.api);
}

TEST(Registry, TheSamePathIsListedOnce) {
  const TempFolder folder;
  const std::string path = copy_of(hostile("newer_minor"), folder.path("x.so"));
  const std::vector<std::string> paths = {path, path};
  EXPECT_EQ(BackendRegistry(paths).entries().size(), BackendRegistry().entries().size() + 1);
}

TEST(Registry, ANameIsListedOnce) {
  const TempFolder folder;
  const std::vector<std::string> paths = {copy_of(hostile("newer_minor"), folder.path("a.so")),
                                          copy_of(hostile("newer_minor"), folder.path("b.so")),
                                          copy_of(hostile("auto_name"), folder.path("c.so")),
                                          copy_of(TENON_REFERENCE_PLUGIN, folder.path("d.so"))};
  const BackendRegistry registry(paths);
  std::multiset<std::string> names;
  for (const BackendEntry& entry : registry.entries()) {
    if (!entry.name.empty()) names.insert(entry.name);
  }
  EXPECT_THAT(names, testing::ElementsAre("cpu", "reference", "stub"));
  for (const size_t taken : {3u, 4u, 5u}) {
    EXPECT_EQ(registry.entries()[taken].reason, PluginReason::NameTaken) << taken;
  }
  expect_error(Code::Argument, testing::EndsWith("there are: cpu, reference, stub"),
               [&] { (void)registry.find("gpu"); });
}

TEST(Registry, AnUnknownNameIsAnArgumentErrorThatListsTheKnown) {
  const TempFolder folder;
  const std::vector<std::string> paths = {folder.path("missing.so")};
  const BackendRegistry registry(paths);
  for (const char* name : {"gpu", ""}) {
    expect_error(Code::Argument, HasSubstr("cpu, reference"), [&] { (void)registry.find(name); });
  }
}

// ---- System failures ----------------------------------------------------------------------------

TEST(PluginFile, EachCallOfTheSystemMayFail) {
  const TempFolder folder;
  const std::string path = copy_of(TENON_REFERENCE_PLUGIN, folder.path("libtenon-reference.so"));
  uint64_t n = 0;
  for (;; ++n) {
    const auto system = std::make_shared<FaultySystem>(n);
    {
      const Plugin plugin = load_plugin(path, system);
      if (system->failed()) {
        EXPECT_NE(plugin.reason, PluginReason::None) << "call " << n;
        EXPECT_NE(plugin.text, "") << "call " << n;
        EXPECT_EQ(plugin.backend.api, nullptr) << "call " << n;
      } else {
        EXPECT_EQ(plugin.reason, PluginReason::None) << plugin.text;
      }
    }
    EXPECT_TRUE(system->all_released()) << "call " << n;
    if (!system->failed()) break;
  }
  EXPECT_GE(n, 6u);  // open and stat of file and folder, reads of its headers, the load
}

TEST(Registry, GoesOnWithTheBuiltInOnesWhenNothingCanBeRead) {
  const TempFolder folder;
  const std::vector<std::string> paths = {
      copy_of(TENON_REFERENCE_PLUGIN, folder.path("libtenon-reference.so"))};
  for (uint64_t n = 0;; ++n) {
    const auto system = std::make_shared<FaultySystem>(n);
    const BackendRegistry registry(paths, system);
    EXPECT_EQ(registry.entries()[0].name, "cpu");
    EXPECT_EQ(registry.entries()[0].reason, PluginReason::None);
    if (!system->failed()) break;
  }
}

}  // namespace
}  // namespace tenon
